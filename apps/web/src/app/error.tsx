'use client';
// Error page for a failure while a page outside of an organization rendered.
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
        message="Something went wrong on our side. Try again, or contact support with this error id."
        errorId={error.digest}
        onRetry={reset}
      />
    </main>
  );
}
