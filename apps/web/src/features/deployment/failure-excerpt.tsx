// Lines of the log that show why a deployment failed, at the top of its page.
import { cn } from '@fairlead/ui/lib/class-names';
import type { LogViewLine } from '@fairlead/ui/lib/log-lines';
import type { FailingLines } from './failing-lines.ts';

export interface FailureExcerptProps {
  readonly lines: readonly LogViewLine[];
  readonly failing: FailingLines;
  readonly onShowError: () => void;
}

export function FailureExcerpt({ lines, failing, onShowError }: FailureExcerptProps) {
  return (
    <ol
      aria-label="Failing lines"
      className="mt-3 max-h-72 overflow-y-auto rounded-control border border-line bg-surface py-2 font-mono text-sm"
    >
      {lines.slice(failing.from, failing.to).map((line, at) => {
        const isMain = failing.from + at === failing.main;
        return (
          <li
            key={line.id}
            className={cn(
              'flex gap-3 pr-4 leading-6',
              (isMain || line.level === 'error') && 'bg-bad-wash text-bad-text',
              isMain && 'font-medium shadow-[inset_2px_0_0_var(--bad)]',
            )}
          >
            <a
              href={`#${line.id}`}
              aria-label={`Show line ${line.id.slice(1)} in the log`}
              onClick={(event) => {
                if (!isMain) return;
                event.preventDefault();
                onShowError();
              }}
              className="tabular w-12 shrink-0 select-none text-right text-ink-faint hover:text-ink focus-visible:-outline-offset-2"
            >
              {line.id.slice(1)}
            </a>
            <span className="wrap-anywhere min-w-0 whitespace-pre-wrap">{line.text}</span>
          </li>
        );
      })}
    </ol>
  );
}
