'use client';
// Toolbar of a log: search with count and navigation, copy and download.
import { IconButton } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import type { LogViewLine } from './lib/log-rows.ts';
import { SearchInput } from './search-input.tsx';
import { StateText } from './state-pill.tsx';

export interface LogToolbarProps {
  readonly lines: readonly LogViewLine[];
  readonly live: boolean;
  readonly query: string;
  readonly matchCount: number;
  readonly matchAt: number;
  readonly fileName: string;
  readonly onQueryChange: (query: string) => void;
  readonly onMove: (by: number) => void;
}

export function LogToolbar(props: LogToolbarProps) {
  const { lines, live, query, matchCount, matchAt, fileName, onQueryChange, onMove } = props;
  const searching = query.trim() !== '';
  return (
    <div className="flex items-center gap-2 border-line border-b px-2 py-2">
      <SearchInput
        label="Search the log"
        value={query}
        onValueChange={onQueryChange}
        onKeyDownCapture={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          onMove(event.shiftKey ? -1 : 1);
        }}
        className="max-w-72"
      />
      {searching ? (
        <>
          <span className="tabular whitespace-nowrap text-sm text-ink-faint" aria-live="polite">
            {matchCount === 0 ? 'No match' : `${matchAt + 1} of ${matchCount}`}
          </span>
          <IconButton label="Previous match" size="small" disabled={matchCount === 0} onClick={() => onMove(-1)}>
            <Chevron up />
          </IconButton>
          <IconButton label="Next match" size="small" disabled={matchCount === 0} onClick={() => onMove(1)}>
            <Chevron />
          </IconButton>
        </>
      ) : null}
      <span className="ml-auto flex items-center gap-1">
        {live ? (
          <StateText tone="live" className="mr-2">
            Live
          </StateText>
        ) : null}
        <CopyButton value={() => wholeText(lines)} label="Copy the log" />
        <IconButton
          label="Download the log"
          size="small"
          disabled={lines.length === 0}
          onClick={() => save(lines, fileName)}
        >
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
            <path d="M8 2.75v7m0 0 2.75-2.75M8 9.75 5.25 7M3 12.75h10" />
          </svg>
        </IconButton>
      </span>
    </div>
  );
}

function Chevron({ up = false }: { readonly up?: boolean }) {
  return (
    <svg
      width="14"
      height="14"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d={up ? 'm4.5 9.75 3.5-3.5 3.5 3.5' : 'm4.5 6.25 3.5 3.5 3.5-3.5'} />
    </svg>
  );
}

function wholeText(lines: readonly LogViewLine[]): string {
  return lines.map((line) => line.text).join('\n');
}

function save(lines: readonly LogViewLine[], fileName: string): void {
  const url = URL.createObjectURL(new Blob([wholeText(lines), '\n'], { type: 'text/plain' }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = fileName;
  anchor.click();
  URL.revokeObjectURL(url);
}
