// Row of a log: a line with its number, or the title of a group. Invariant: each is exactly LOG_ROW_PX high.
import { cn } from './lib/class-names.ts';
import { type LogRow, type LogViewLine, splitMatches } from './lib/log-rows.ts';

export const LOG_ROW_PX = 24;

const TONE: Record<LogViewLine['tone'], string> = {
  plain: 'text-ink',
  system: 'text-ink-faint',
  error: 'text-bad-text',
};

export interface LineRowProps {
  readonly index: number;
  readonly line: LogViewLine | undefined;
  readonly query: string;
  readonly marked: boolean;
  readonly from: number;
  readonly to: number;
  readonly onLink: () => void;
}

export function LineRow({ index, line, query, marked, from, to, onLink }: LineRowProps) {
  if (line === undefined) return null;
  return (
    <div
      className={cn(
        'flex h-6 items-center whitespace-pre pr-4 hover:bg-hover',
        line.tone === 'error' && 'bg-bad-wash',
        marked && 'bg-accent-wash shadow-[inset_2px_0_0_var(--accent)]',
      )}
    >
      {from === 0 ? (
        <a
          href={`#L${index + 1}`}
          aria-label={`Link to line ${index + 1}`}
          onClick={(event) => {
            event.preventDefault();
            onLink();
          }}
          className="tabular flex h-6 w-14 shrink-0 select-none items-center justify-end pr-4 text-right text-ink-faint hover:text-ink focus-visible:-outline-offset-2"
        >
          {index + 1}
        </a>
      ) : (
        // Only the first row of a line shows its number.
        <span className="w-14 shrink-0" />
      )}
      <span className={TONE[line.tone]}>
        {splitMatches(line.text, query, from, to).map((part, at) =>
          part.matched ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one line never move
            <mark key={at} className="rounded-[2px] bg-warn text-accent-ink">
              {part.text}
            </mark>
          ) : (
            part.text
          ),
        )}
      </span>
    </div>
  );
}

export interface GroupRowProps {
  readonly title: string;
  readonly row: Extract<LogRow, { kind: 'group' }>;
  readonly onToggle: () => void;
}

export function GroupRow({ title, row, onToggle }: GroupRowProps) {
  return (
    <button
      type="button"
      aria-expanded={!row.folded}
      onClick={onToggle}
      className="flex h-6 w-full items-center gap-2 pl-4 text-left font-sans text-xs text-ink-faint hover:text-ink focus-visible:-outline-offset-2"
    >
      <svg
        width="10"
        height="10"
        viewBox="0 0 10 10"
        aria-hidden="true"
        className={cn('transition-transform duration-120', !row.folded && 'rotate-90')}
      >
        <path d="M3.5 2 6.5 5l-3 3" fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" />
      </svg>
      <span className="font-medium">{title}</span>
      <span className="tabular">{row.lineCount === 1 ? '1 line' : `${row.lineCount} lines`}</span>
      <span aria-hidden="true" className="mr-4 h-px flex-1 bg-line" />
    </button>
  );
}
