'use client';
// A page that failed while it was made. Its text stays on the server; the digest finds it in the log.
import { ErrorState } from '@fairlead/ui/error-state';
import { Page } from '../../common/page.tsx';

interface Props {
  readonly error: Error & { readonly digest?: string };
  readonly reset: () => void;
}

export default function PageError({ error, reset }: Props) {
  return (
    <Page>
      <ErrorState
        title="This page didn't load"
        message="Something went wrong on our side. Try again; if it stays, quote the error id."
        errorId={error.digest}
        onRetry={reset}
      />
    </Page>
  );
}
