'use client';
// A page outside of an organization that failed while it was made.
import { ErrorState } from '@fairlead/ui/error-state';

interface Props {
  readonly error: Error & { readonly digest?: string };
  readonly reset: () => void;
}

export default function RootError({ error, reset }: Props) {
  return (
    <main className="grid min-h-dvh place-content-center">
      <ErrorState
        title="This page didn't load"
        message="Something went wrong on our side. Try again; if it stays, quote the error id."
        errorId={error.digest}
        onRetry={reset}
      />
    </main>
  );
}
