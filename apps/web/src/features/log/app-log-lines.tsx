'use client';
// Log lines of an app as rows: time, process and text. Follows new lines until the reader scrolls up.
import { cn } from '@fairlead/ui/lib/class-names';
import { plainText, splitMatches } from '@fairlead/ui/lib/log-rows';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import type { LogLine } from '../../api/types.ts';

const LEVEL: Readonly<Record<string, string>> = {
  error: 'text-bad-text',
  warn: 'text-warn-text',
  info: 'text-ink-soft',
  debug: 'text-ink-faint',
};
const NEAR_END_PX = 32;

export interface AppLogLinesProps {
  readonly lines: readonly LogLine[];
  /** Keeps the newest line visible. */
  readonly follows: boolean;
  /** Text to highlight in the lines; empty for none. */
  readonly marked: string;
  /** Content above the first line. */
  readonly head: ReactNode;
  readonly empty: ReactNode;
}

export function AppLogLines({ lines, follows, marked, head, empty }: AppLogLinesProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const last = lines.at(-1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new line moves the end
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && atEnd) element.scrollTop = element.scrollHeight;
  }, [last, atEnd]);
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Log lines"
        onScroll={({ currentTarget: element }) =>
          setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX)
        }
        className="absolute inset-0 overflow-y-auto overscroll-contain py-2 font-mono text-sm focus-visible:-outline-offset-2"
      >
        {head}
        {lines.length === 0 ? (
          empty
        ) : (
          <ol>
            {lines.map((line, index) => (
              // Lines have no name of their own, and only ever come at the ends.
              // biome-ignore lint/suspicious/noArrayIndexKey: the place in the list is all that tells equal lines apart
              <LineRow key={`${line.unixMs} ${index}`} line={line} marked={marked} />
            ))}
          </ol>
        )}
      </div>
      {follows && !atEnd ? (
        <button
          type="button"
          onClick={() => setAtEnd(true)}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 animate-arrive rounded-full border border-line bg-raised px-3 py-1 text-sm shadow-float hover:bg-sunken"
        >
          Follow the end ↓
        </button>
      ) : null}
    </div>
  );
}

function LineRow({ line, marked }: { readonly line: LogLine; readonly marked: string }) {
  const at = new Date(line.unixMs).toISOString();
  const text = plainText(line.text);
  return (
    <li className="flex flex-wrap gap-x-3 px-4 py-px leading-6 [content-visibility:auto] hover:bg-hover sm:flex-nowrap">
      <time dateTime={at} title={`${at} · ${line.instanceId}`} className="tabular shrink-0 text-ink-faint">
        {at.slice(11, 23)}
      </time>
      <span className="w-14 shrink-0 truncate text-ink-faint max-sm:w-auto" title={line.process}>
        {line.stream === 'system' ? 'fairlead' : line.process}
      </span>
      <span className={cn('w-11 shrink-0 max-sm:w-auto', LEVEL[line.level] ?? 'text-ink-faint')}>{line.level}</span>
      <span
        className={cn(
          'wrap-anywhere min-w-0 basis-full whitespace-pre-wrap sm:flex-1 sm:basis-0',
          line.stream === 'system' ? 'text-ink-faint' : line.level === 'error' ? 'text-bad-text' : 'text-ink',
        )}
      >
        {splitMatches(text, marked).map((part, index) =>
          part.matched ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text keep their places
            <mark key={index} className="rounded-mark bg-accent-wash text-accent-text">
              {part.text}
            </mark>
          ) : (
            part.text
          ),
        )}
      </span>
    </li>
  );
}
