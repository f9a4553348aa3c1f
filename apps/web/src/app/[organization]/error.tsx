'use client';
// Error page for a failure while a page rendered. The message stays on the server; the digest finds it in the log.
import { ErrorState } from '@fairlead/ui/error-state';
import { Page } from '../../common/page/page.tsx';

interface Props {
  readonly error: Error & { readonly digest?: string };
  readonly reset: () => void;
}

export default function PageError({ error, reset }: Props) {
  return (
    <Page>
      <ErrorState
        title="This page didn't load"
        message="Something went wrong on our side. Try again, or contact support with this error id."
        errorId={error.digest}
        onRetry={reset}
      />
    </Page>
  );
}
