'use client';
// Error placeholder: the message, a retry button, and an error id to quote.
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { cn } from './lib/class-names.ts';

export interface ErrorStateProps {
  readonly title?: string;
  readonly message: string;
  /** Error id in the control plane's log. */
  readonly errorId?: string | undefined;
  readonly onRetry?: (() => void) | undefined;
  readonly className?: string;
}

export function ErrorState({ title = "Couldn't load", message, errorId, onRetry, className }: ErrorStateProps) {
  return (
    <div role="alert" className={cn('flex flex-col items-center px-6 py-12 text-center', className)}>
      <h2 className="text-lg font-semibold text-ink">{title}</h2>
      <p className="mt-1.5 max-w-[52ch] text-pretty text-ink-soft">{message}</p>
      {errorId ? (
        <p className="mt-2 flex items-center gap-1 text-sm text-ink-faint">
          Error <code className="font-mono">{errorId}</code>
          <CopyButton value={errorId} label="Copy the error id" />
        </p>
      ) : null}
      {onRetry ? (
        <Button className="mt-5" onClick={onRetry}>
          Try again
        </Button>
      ) : null}
    </div>
  );
}

/** One-line error inside a form or a dialog. */
export function ErrorNote({ children, className }: { readonly children: string; readonly className?: string }) {
  return (
    <p role="alert" className={cn('rounded-control bg-bad-wash px-3 py-2 text-bad-text', className)}>
      {children}
    </p>
  );
}
