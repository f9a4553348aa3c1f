// Error of a page that failed while it rendered. The message stays on the server; the digest finds it in the log.
import { ErrorState } from '@fairlead/ui/error-state';

export interface RenderErrorProps {
  readonly error: Error & { readonly digest?: string };
  readonly reset: () => void;
}

export function RenderError({ error, reset, title = "This page didn't load" }: RenderErrorProps & { title?: string }) {
  return (
    <ErrorState
      title={title}
      message="Something went wrong on our side. Try again, or contact support with this error id."
      errorId={error.digest}
      onRetry={reset}
    />
  );
}
