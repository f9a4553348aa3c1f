'use client';
// Log view for builds, apps and requests: renders only rows near the viewport, however long the log. Follows the end of a live log
// until the reader scrolls up.
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { cn } from './lib/class-names.ts';
import {
  findMatches,
  idOfHash,
  type LogField,
  type LogRow,
  type LogViewLine,
  layoutRows,
  rowOfLine,
} from './lib/log-lines.ts';
import { useStoredFlag } from './lib/stored-flag.ts';
import { LogHistogram } from './log-histogram.tsx';
import { GroupRow, LineRow, LOG_ROW_PX, type LogColumns } from './log-row.tsx';
import { LogToolbar } from './log-toolbar.tsx';

export interface LogViewProps {
  readonly label?: string;
  readonly lines: readonly LogViewLine[];
  /** True while more lines may arrive: starts at the end and follows it. */
  readonly live: boolean;
  /** Lines have numbers, because their positions are final. */
  readonly numbered: boolean;
  readonly groupTitle?: (group: string) => string;
  /** Groups that are folded at first; the reader can unfold them. */
  readonly initiallyFolded?: readonly string[];
  readonly empty: ReactNode;
  readonly fileName: string;
  /** Text that the owner has filtered by, to mark it; null: the log has a search field of its own. */
  readonly filteredBy?: string | null;
  /** State and buttons at the start of the toolbar. */
  readonly status?: ReactNode;
  /** Content between toolbar and lines. */
  readonly notice?: ReactNode;
  /** Content above the first line. */
  readonly head?: ReactNode;
  readonly histogram?: boolean;
  /** Line that the page links to; without it, the one in the hash. */
  readonly linkedId?: string | null;
  /** Address of a line; default: its hash. */
  readonly hrefOf?: (line: LogViewLine) => string;
  /** Address of the lines around a line; null if they are visible. */
  readonly contextHrefOf?: (line: LogViewLine) => string | null;
  readonly onField?: (field: LogField) => void;
  /** Id of the line that "Jump to error" shows first; default: the first error. */
  readonly mainErrorId?: string | null;
  readonly className?: string;
}

const NEAR_END_PX = 32;
const OVERSCAN_ROWS = 24;
/** Rows that are rendered until the size is known, as on the server. */
const FIRST_RECT = { width: 800, height: 480 };
const SOURCE_CHARACTERS_MAX = 14;

export function LogView(props: LogViewProps) {
  const { lines, live, numbered, empty, fileName, filteredBy = null, head = null, onField } = props;
  const { hrefOf = hashOf, contextHrefOf = noContext, groupTitle = sameTitle } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => new Set(props.initiallyFolded));
  const [query, setQuery] = useState('');
  const [matchAt, setMatchAt] = useState(0);
  const [wraps, setWraps] = useStoredFlag('fairlead.log.wrap', true);
  const [shownId, show] = useLinkedLine(props.linkedId);

  const searched = useDeferredValue(query);
  const matches = useMemo(() => findMatches(lines, searched), [lines, searched]);
  const errors = useMemo(() => lines.flatMap(({ level }, index) => (level === 'error' ? [index] : [])), [lines]);
  const columns = useMemo(() => columnsOf(lines, numbered), [lines, numbered]);
  const shown = useMemo(() => lines.findIndex(({ id }) => id === shownId?.id), [lines, shownId]);
  const target = matches[Math.min(matchAt, matches.length - 1)] ?? shown;
  const targetGroup = lines[target]?.group;

  const isSearching = searched.trim() !== '';
  const rows = useMemo(() => {
    // All matches must be visible, and so must the line that the page links to.
    const isFolded = [...folded].filter((group) => !isSearching && group !== targetGroup);
    return layoutRows(lines, new Set(isFolded), head !== null);
  }, [lines, folded, isSearching, targetGroup, head]);

  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LOG_ROW_PX,
    getItemKey: (index) => keyOf(rows[index], lines, index),
    overscan: OVERSCAN_ROWS,
    initialRect: FIRST_RECT,
    paddingStart: 8,
    paddingEnd: 8,
    // Older lines that arrive above leave the view where it is.
    anchorTo: 'end',
    followOnAppend: live,
    scrollEndThreshold: NEAR_END_PX,
    useFlushSync: false,
  });

  // The heights of rows that are not rendered are remembered from another width.
  // biome-ignore lint/correctness/useExhaustiveDependencies: wrapping changes all heights
  useEffect(() => virtualizer.measure(), [virtualizer, wraps]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    let width = element.clientWidth;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      virtualizer.measure();
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [virtualizer]);

  const targetRow = target === -1 ? -1 : rowOfLine(rows, target);
  const startsAtEnd = live || filteredBy !== null;
  const hasRows = rows.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a line is shown again when its link is pressed again
  useEffect(() => {
    if (targetRow === -1) return;
    virtualizer.scrollToIndex(targetRow, { align: 'center' });
    // The page may end within the log.
    scroller.current?.scrollIntoView({ block: 'nearest' });
  }, [virtualizer, targetRow, shownId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the first rows decide where the log begins
  useEffect(() => {
    if (hasRows && startsAtEnd && targetRow === -1) virtualizer.scrollToEnd();
  }, [virtualizer, hasRows]);

  const jumpToError = () => {
    const first = lines.findIndex(({ id }) => id === props.mainErrorId);
    const next = errors.find((index) => index > shown) ?? errors[0];
    const index = shown === -1 && first !== -1 ? first : next;
    const line = index === undefined ? undefined : lines[index];
    setQuery('');
    if (line !== undefined) show(line.id);
  };
  const move = (by: number) => {
    if (matches.length > 0)
      setMatchAt((at) => (Math.min(at, matches.length - 1) + by + matches.length) % matches.length);
  };
  const toggle = (group: string) => {
    setFolded((all) => {
      const next = new Set(all);
      if (!next.delete(group)) next.add(group);
      return next;
    });
  };
  const link = (line: LogViewLine) => {
    window.history.replaceState(window.history.state, '', hrefOf(line));
    show(line.id);
  };

  const items = virtualizer.getVirtualItems();
  const isAway = live && hasRows && scroller.current !== null && !virtualizer.isAtEnd(NEAR_END_PX);
  return (
    <section
      aria-label={props.label ?? 'Log'}
      className={cn(
        'relative flex min-h-0 flex-col overflow-hidden rounded-card border border-line bg-surface',
        props.className,
      )}
    >
      <LogToolbar
        lines={lines}
        live={live}
        find={
          filteredBy !== null
            ? null
            : {
                query,
                matchCount: matches.length,
                matchAt: Math.min(matchAt, Math.max(0, matches.length - 1)),
                onQueryChange: (value) => {
                  setQuery(value);
                  setMatchAt(0);
                },
                onMove: move,
              }
        }
        status={props.status}
        errorCount={errors.length}
        wraps={wraps}
        fileName={fileName}
        onJumpToError={jumpToError}
        onWrapsChange={setWraps}
      />
      {props.notice}
      {props.histogram === true ? <LogHistogram lines={lines} /> : null}
      <div
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Log lines"
        className={cn(
          'relative min-h-0 flex-1 overflow-y-auto overscroll-contain font-mono text-sm focus-visible:-outline-offset-2',
          wraps ? 'overflow-x-hidden' : 'overflow-x-auto',
        )}
      >
        {lines.length === 0 ? <div className="px-4 py-4 font-sans text-base text-ink-faint">{empty}</div> : null}
        <div className={cn('relative', !wraps && 'w-max min-w-full')} style={{ height: virtualizer.getTotalSize() }}>
          <div
            className={cn('min-w-full', wraps ? 'absolute inset-x-0' : 'relative w-max')}
            style={{ top: items[0]?.start ?? 0 }}
          >
            {items.map((item) => (
              <div key={item.key} data-index={item.index} ref={virtualizer.measureElement}>
                {renderRow(rows[item.index])}
              </div>
            ))}
          </div>
        </div>
      </div>
      {isAway ? (
        <button
          type="button"
          onClick={() => {
            show(null);
            virtualizer.scrollToEnd();
          }}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 animate-arrive rounded-full border border-line bg-raised px-3 py-1 text-sm shadow-float hover:bg-sunken"
        >
          Follow the end ↓
        </button>
      ) : null}
    </section>
  );

  function renderRow(row: LogRow | undefined): ReactNode {
    if (row === undefined) return null;
    if (row.kind === 'head') return head;
    if (row.kind === 'group')
      return <GroupRow title={groupTitle(row.group)} row={row} onToggle={() => toggle(row.group)} />;
    const line = lines[row.index];
    if (line === undefined) return null;
    return (
      <LineRow
        index={row.index}
        line={line}
        columns={columns}
        query={filteredBy ?? searched}
        marked={row.index === target}
        wraps={wraps}
        href={hrefOf(line)}
        onLink={() => link(line)}
        contextHref={contextHrefOf(line)}
        onField={onField}
      />
    );
  }
}

function hashOf({ id }: LogViewLine): string {
  return `#${id}`;
}

function noContext(): null {
  return null;
}

function sameTitle(group: string): string {
  return group;
}

function columnsOf(lines: readonly LogViewLine[], numbers: boolean): LogColumns {
  const sources = new Set(lines.map(({ source }) => source));
  const longest = Math.max(0, ...[...sources].map(({ length }) => length));
  return {
    numbers,
    sourceCharacters: sources.size > 1 ? Math.min(longest, SOURCE_CHARACTERS_MAX) : 0,
    levels: !numbers && lines.some(({ level }) => level !== null),
  };
}

function keyOf(row: LogRow | undefined, lines: readonly LogViewLine[], at: number): string | number {
  if (row === undefined) return at;
  if (row.kind === 'head') return 'head';
  return row.kind === 'group' ? `group ${at}` : (lines[row.index]?.id ?? at);
}

interface ShownLine {
  readonly id: string;
}

/** Line that the page links to. Each call shows it again, also the same one. */
function useLinkedLine(given: string | null | undefined): [ShownLine | null, (id: string | null) => void] {
  const [shown, setShown] = useState<ShownLine | null>(given ? { id: given } : null);
  const [seen, setSeen] = useState(given);
  if (given !== seen) {
    setSeen(given);
    setShown(given ? { id: given } : null);
  }
  const isGiven = given !== undefined;
  useEffect(() => {
    if (isGiven) return;
    const readHash = () => {
      const id = idOfHash(window.location.hash);
      setShown(id === null ? null : { id });
    };
    readHash();
    window.addEventListener('hashchange', readHash);
    return () => window.removeEventListener('hashchange', readHash);
  }, [isGiven]);
  return [shown, (id) => setShown(id === null ? null : { id })];
}
