// Row of a log: a line with its columns, or the title of a group.

import type { CSSProperties, MouseEvent } from 'react';
import { useClockFormats } from './clock-formats.tsx';
import { useFormats } from './formats.tsx';
import { type AnsiColour, ansiParts, plain } from './lib/ansi.ts';
import { cn } from './lib/class-names.ts';
import { formatLogTimeUtc } from './lib/clock-format.ts';
import {
  type LogField,
  type LogLevel,
  type LogRow,
  type LogViewLine,
  type MarkedPart,
  markMatches,
} from './lib/log-lines.ts';

/** Height in pixels of a line that does not wrap. */
export const LOG_ROW_PX = 24;

const LEVEL: Record<LogLevel, string> = {
  error: 'text-bad-text',
  warn: 'text-warn-text',
  info: 'text-ink-soft',
  debug: 'text-ink-faint',
};

const COLOUR: Record<AnsiColour, string> = {
  red: 'text-bad-text',
  green: 'text-ok-text',
  yellow: 'text-warn-text',
  blue: 'text-ansi-blue',
  magenta: 'text-ansi-magenta',
  cyan: 'text-ansi-cyan',
  grey: 'text-ink-faint',
};

const GROUND: Record<AnsiColour, string> = {
  red: 'bg-bad-wash text-bad-text',
  green: 'bg-ok-wash text-ok-text',
  yellow: 'bg-warn-wash text-warn-text',
  blue: 'bg-sunken text-ansi-blue',
  magenta: 'bg-sunken text-ansi-magenta',
  cyan: 'bg-sunken text-ansi-cyan',
  grey: 'bg-sunken text-ink',
};

/** Columns that the lines of a log need; each is as wide as its longest value. */
export interface LogColumns {
  /** Line numbers link to their lines; without them, times do. */
  readonly numbers: boolean;
  /** Characters; 0 hides the column, because all lines have one source. */
  readonly sourceCharacters: number;
  readonly levels: boolean;
}

export interface LineRowProps {
  readonly index: number;
  readonly line: LogViewLine;
  readonly columns: LogColumns;
  readonly query: string;
  readonly marked: boolean;
  readonly wraps: boolean;
  readonly href: string;
  readonly onLink: () => void;
  /** Address of the lines around it; null if they are visible. */
  readonly contextHref: string | null;
  readonly onField: ((field: LogField) => void) | undefined;
}

export function LineRow(props: LineRowProps) {
  const { index, line, columns, query, marked, wraps, href, onLink, contextHref, onField } = props;
  const { formatLogTime } = useClockFormats();
  const isError = line.level === 'error';
  const time =
    line.unixMs === null ? null : (
      <time dateTime={new Date(line.unixMs).toISOString()} title={formatLogTimeUtc(line.unixMs)} className="tabular">
        {formatLogTime(line.unixMs)}
      </time>
    );
  const link = 'shrink-0 select-none text-ink-faint hover:text-ink focus-visible:-outline-offset-2';
  return (
    <div
      data-level={line.level ?? undefined}
      className={cn(
        'group/line flex min-w-full gap-x-3 pr-4 leading-6 hover:bg-hover',
        !columns.numbers && 'max-sm:flex-wrap max-sm:pl-3 sm:pl-4',
        !wraps && 'w-max',
        isError && 'bg-bad-wash',
        marked && 'bg-accent-wash shadow-[inset_2px_0_0_var(--accent)]',
      )}
    >
      <a
        href={href}
        aria-label={
          columns.numbers
            ? `Link to line ${index + 1}`
            : `Link to the line of ${time === null ? '' : formatLogTime(line.unixMs ?? 0)}`
        }
        onClick={(event) => {
          if (isModified(event)) return;
          event.preventDefault();
          onLink();
        }}
        className={cn(link, columns.numbers && 'tabular w-11 text-right')}
      >
        {columns.numbers ? index + 1 : time}
      </a>
      {columns.numbers && time !== null ? (
        <span className="shrink-0 select-none text-ink-faint max-lg:hidden">{time}</span>
      ) : null}
      {columns.sourceCharacters > 0 ? (
        <span
          className="shrink-0 truncate text-ink-faint sm:w-(--source-width)"
          style={{ '--source-width': `${columns.sourceCharacters}ch` } as CSSProperties}
          title={line.source}
        >
          {line.source}
        </span>
      ) : null}
      {columns.levels ? (
        <span
          className={cn('w-[5ch] shrink-0 max-sm:w-auto', line.level === null ? 'max-sm:hidden' : LEVEL[line.level])}
        >
          {line.level}
        </span>
      ) : isError ? (
        <span className="sr-only">Error: </span>
      ) : null}
      <span
        className={cn(
          wraps ? 'wrap-anywhere min-w-0 flex-1 whitespace-pre-wrap' : 'whitespace-pre',
          !columns.numbers && 'max-sm:order-1 max-sm:basis-full',
          isError ? 'text-bad-text' : line.system ? 'text-ink-faint' : 'text-ink',
        )}
      >
        {line.json === null ? (
          <Marked parts={markMatches(ansiParts(line.raw), query)} />
        ) : (
          <>
            <Marked parts={markMatches(plain(line.json.message), query)} />
            {line.json.fields.map((field) => (
              <Field key={field.name} field={field} query={query} onField={onField} />
            ))}
          </>
        )}
      </span>
      {contextHref === null ? null : (
        <a
          href={contextHref}
          onClick={(event) => {
            if (isModified(event)) return;
            event.preventDefault();
            // The router follows the address without loading the page again.
            window.history.pushState(null, '', contextHref);
          }}
          className="shrink-0 self-start rounded-mark font-sans text-ink-soft text-xs leading-6 underline opacity-0 max-sm:ml-auto hover:text-ink focus-visible:opacity-100 group-hover/line:opacity-100 max-sm:opacity-100"
        >
          Show in context
        </a>
      )}
    </div>
  );
}

/** Opens a tab or a window instead. */
function isModified(event: MouseEvent): boolean {
  return event.metaKey || event.ctrlKey || event.shiftKey;
}

interface FieldProps {
  readonly field: LogField;
  readonly query: string;
  readonly onField: ((field: LogField) => void) | undefined;
}

function Field({ field, query, onField }: FieldProps) {
  const text = (
    <>
      <span className="text-ink-faint">{field.name}=</span>
      <Marked parts={markMatches(plain(field.value), query)} />
    </>
  );
  return (
    <span className="ml-3 text-ink-soft">
      {onField === undefined ? (
        text
      ) : (
        // The filter of fields above the log is the way for keyboards: each line would add several stops.
        <button
          type="button"
          tabIndex={-1}
          title={`Filter by ${field.name}`}
          onClick={() => onField(field)}
          className="text-left hover:underline"
        >
          {text}
        </button>
      )}
    </span>
  );
}

function Marked({ parts }: { readonly parts: readonly MarkedPart[] }) {
  return parts.map((part, at) => {
    const style = cn(
      part.background !== null
        ? GROUND[part.background]
        : part.colour !== null
          ? COLOUR[part.colour]
          : part.dim && 'text-ink-faint',
      part.bold && 'font-semibold',
      part.italic && 'italic',
      part.underline && 'underline',
    );
    if (part.matched) {
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one line never move
        <mark key={at} className="rounded-[2px] bg-warn text-accent-ink">
          {part.text}
        </mark>
      );
    }
    return style === '' ? (
      part.text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one line never move
      <span key={at} className={style}>
        {part.text}
      </span>
    );
  });
}

export interface GroupRowProps {
  readonly title: string;
  readonly row: Extract<LogRow, { kind: 'group' }>;
  readonly onToggle: () => void;
}

export function GroupRow({ title, row, onToggle }: GroupRowProps) {
  const { plural } = useFormats();
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
      <span className="tabular">{plural(row.lineCount, 'line')}</span>
      <span aria-hidden="true" className="mr-4 h-px flex-1 bg-line" />
    </button>
  );
}
