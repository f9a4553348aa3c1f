'use client';
// Toolbar of a log: search or filters, jump to the next error, wrap, copy and download.
import type { ReactNode } from 'react';
import { Button, IconButton } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { useFormats } from './formats.tsx';
import { cn } from './lib/class-names.ts';
import type { LogViewLine } from './lib/log-lines.ts';
import { saveFile } from './lib/save-file.ts';
import { zoneOffset } from './lib/time-zone.ts';
import { SearchInput } from './search-input.tsx';
import { StateText } from './state-pill.tsx';

export interface LogToolbarProps {
  readonly lines: readonly LogViewLine[];
  readonly live: boolean;
  readonly find: FindProps | null;
  readonly status: ReactNode;
  readonly errorCount: number;
  readonly wraps: boolean;
  readonly fileName: string;
  readonly onJumpToError: () => void;
  readonly onWrapsChange: (wraps: boolean) => void;
}

export interface FindProps {
  readonly query: string;
  readonly matchCount: number;
  readonly matchAt: number;
  readonly onQueryChange: (query: string) => void;
  readonly onMove: (by: number) => void;
}

export function LogToolbar(props: LogToolbarProps) {
  const { lines, live, find, status, errorCount, wraps, fileName, onJumpToError, onWrapsChange } = props;
  const { plural, timeZone } = useFormats();
  const lastMs = lines.findLast(({ unixMs }) => unixMs !== null)?.unixMs ?? null;
  return (
    <div className="flex min-h-12 flex-wrap items-center gap-2 border-line border-b px-2 py-1.5">
      {find === null ? null : <Find {...find} />}
      {status}
      <span className="ml-auto flex items-center gap-1">
        {live && find !== null ? (
          <StateText tone="live" className="mr-2">
            Live
          </StateText>
        ) : null}
        {errorCount > 0 ? (
          <Button
            size="small"
            variant="danger-outline"
            title={errorCount === 1 ? '1 error' : `${plural(errorCount, 'error')}; press again for the next one`}
            onClick={onJumpToError}
          >
            Jump to error
          </Button>
        ) : null}
        {lastMs === null ? null : (
          <span
            className="px-1.5 text-ink-faint text-sm max-sm:hidden"
            title={`Times in ${timeZone}. Hover over a time for UTC.`}
          >
            {zoneOffset(lastMs, timeZone)}
          </span>
        )}
        <IconButton
          label="Wrap lines"
          size="small"
          aria-pressed={wraps}
          onClick={() => onWrapsChange(!wraps)}
          className={cn(wraps && 'bg-pressed text-ink')}
        >
          <Icon path="M2.5 4h11M2.5 12h3.5M2.5 8h9a2.25 2.25 0 0 1 0 4.5H9m0 0 1.5-1.5M9 12.5 10.5 14" />
        </IconButton>
        <CopyButton value={() => lines.map(({ text }) => text).join('\n')} label="Copy the log" />
        <IconButton
          label="Download the log"
          size="small"
          disabled={lines.length === 0}
          onClick={() => save(lines, fileName)}
        >
          <Icon path="M8 2.75v7m0 0 2.75-2.75M8 9.75 5.25 7M3 12.75h10" />
        </IconButton>
      </span>
    </div>
  );
}

function Find({ query, matchCount, matchAt, onQueryChange, onMove }: FindProps) {
  const { formatInteger } = useFormats();
  return (
    <>
      <SearchInput
        label="Search the log"
        value={query}
        onValueChange={onQueryChange}
        onKeyDownCapture={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          onMove(event.shiftKey ? -1 : 1);
        }}
        className="max-w-64 flex-1 basis-32 max-sm:max-w-none max-sm:basis-full"
      />
      {query.trim() === '' ? null : (
        <>
          <span className="tabular whitespace-nowrap text-sm text-ink-faint" aria-live="polite">
            {matchCount === 0 ? 'No match' : `${formatInteger(matchAt + 1)} of ${formatInteger(matchCount)}`}
          </span>
          <IconButton label="Previous match" size="small" disabled={matchCount === 0} onClick={() => onMove(-1)}>
            <Icon path="m4.5 9.75 3.5-3.5 3.5 3.5" />
          </IconButton>
          <IconButton label="Next match" size="small" disabled={matchCount === 0} onClick={() => onMove(1)}>
            <Icon path="m4.5 6.25 3.5 3.5 3.5-3.5" />
          </IconButton>
        </>
      )}
    </>
  );
}

function Icon({ path }: { readonly path: string }) {
  return (
    <svg
      width="15"
      height="15"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}

/** Writes one line a row with its time in UTC, source and level, so that the file is read without the page. */
function save(lines: readonly LogViewLine[], fileName: string): void {
  const text = lines.map(({ unixMs, source, level, text: line }) =>
    [unixMs === null ? '' : new Date(unixMs).toISOString(), source, level ?? '', line].filter(Boolean).join(' '),
  );
  saveFile(`${text.join('\n')}\n`, fileName);
}
