'use client';
// Error page for a failure of the root layout. Brings its own document.
import './globals.css';
import { ErrorState } from '@fairlead/ui/error-state';

interface Props {
  readonly error: Error & { readonly digest?: string };
  readonly reset: () => void;
}

export default function GlobalError({ error, reset }: Props) {
  return (
    <html lang="en">
      <body>
        <main className="grid min-h-dvh place-content-center">
          <ErrorState
            title="The dashboard didn't load"
            message="Something went wrong on our side. Try again, or contact support with this error id."
            errorId={error.digest}
            onRetry={reset}
          />
        </main>
      </body>
    </html>
  );
}
