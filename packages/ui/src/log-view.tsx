'use client';
// Virtualized log view for tens of thousands of lines: renders only rows near the viewport. Follows the end until the
// reader scrolls up.
import { useCallback, useDeferredValue, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { cn } from './lib/class-names.ts';
import { findMatches, type LogViewLine, layoutRows, lineOfHash, rowOfLine, visibleWindow } from './lib/log-rows.ts';
import { GroupRow, LineRow, LOG_ROW_PX } from './log-row.tsx';
import { LogToolbar } from './log-toolbar.tsx';

export interface LogViewProps {
  readonly lines: readonly LogViewLine[];
  /** True while more lines may arrive: follows the end and says so. */
  readonly live: boolean;
  readonly groupTitle: (group: string) => string;
  /** Groups that are folded at first; the reader can unfold them. */
  readonly initiallyFolded?: readonly string[];
  readonly emptyText: string;
  readonly fileName: string;
  readonly className?: string;
}

const NEAR_END_PX = 32;
/** Width in pixels of the line numbers at the left and the padding at the right, as in log-row.tsx. */
const MARGINS_PX = 56 + 16;
/** Number of columns until the width is measured. */
const COLUMNS_FIRST = 100;
const RULER_CHARACTERS = 100;

export function LogView({ lines, live, groupTitle, initiallyFolded, emptyText, fileName, className }: LogViewProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => new Set(initiallyFolded));
  const [query, setQuery] = useState('');
  const [matchAt, setMatchAt] = useState(0);
  const [following, setFollowing] = useState(true);
  const [linked, setLinked] = useState<number | null>(null);
  const ruler = useRef<HTMLSpanElement>(null);
  const [view, setView] = useState({ top: 0, height: 480, columns: COLUMNS_FIRST });

  const searched = useDeferredValue(query);
  const matches = useMemo(() => findMatches(lines, searched), [lines, searched]);
  // A search unfolds all groups, because its matches must be visible.
  const rows = useMemo(
    () => layoutRows(lines, searched.trim() === '' ? folded : new Set(), view.columns),
    [lines, folded, searched, view.columns],
  );
  const window_ = visibleWindow(view.top, view.height, LOG_ROW_PX, rows.length);
  const current = matches[Math.min(matchAt, matches.length - 1)];

  const measure = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    const characterPx = (ruler.current?.offsetWidth ?? 0) / RULER_CHARACTERS || 8;
    setView({
      top: element.scrollTop,
      height: element.clientHeight,
      columns: Math.floor((element.clientWidth - MARGINS_PX) / characterPx),
    });
  }, []);

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [measure]);

  useEffect(() => {
    const readHash = () => {
      const index = lineOfHash(window.location.hash);
      setLinked(index);
      if (index !== null) setFollowing(false);
    };
    readHash();
    window.addEventListener('hashchange', readHash);
    return () => window.removeEventListener('hashchange', readHash);
  }, []);

  const target = current ?? linked;
  // Lines arrive in batches: the row of a linked line is unknown until it has arrived.
  const targetRow = target === null || target === undefined ? -1 : rowOfLine(rows, target);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || targetRow === -1) return;
    element.scrollTop = Math.max(0, targetRow * LOG_ROW_PX - element.clientHeight / 2);
  }, [targetRow]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each new row moves the end
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && following && live && targetRow === -1) element.scrollTop = element.scrollHeight;
  }, [rows.length, following, live, targetRow]);

  const onScroll = () => {
    const element = scroller.current;
    if (element === null) return;
    measure();
    setFollowing(element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX);
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
  const link = (index: number) => {
    window.history.replaceState(window.history.state, '', `#L${index + 1}`);
    setLinked(index);
  };
  const toEnd = () => {
    const element = scroller.current;
    if (element === null) return;
    setLinked(null);
    element.scrollTop = element.scrollHeight;
  };

  return (
    <section
      aria-label="Log"
      className={cn(
        'relative flex min-h-0 flex-col overflow-hidden rounded-card border border-line bg-surface',
        className,
      )}
    >
      <LogToolbar
        lines={lines}
        live={live}
        query={query}
        matchCount={matches.length}
        matchAt={Math.min(matchAt, Math.max(0, matches.length - 1))}
        fileName={fileName}
        onQueryChange={(value) => {
          setQuery(value);
          setMatchAt(0);
        }}
        onMove={move}
      />
      <div
        ref={scroller}
        onScroll={onScroll}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Log lines"
        className="min-h-0 relative flex-1 overflow-y-auto overflow-x-hidden overscroll-contain py-2 font-mono text-sm focus-visible:-outline-offset-2"
      >
        {lines.length === 0 ? <p className="px-4 py-2 font-sans text-base text-ink-faint">{emptyText}</p> : null}
        <span ref={ruler} aria-hidden="true" className="invisible absolute w-[100ch]" />
        <div className="relative" style={{ height: rows.length * LOG_ROW_PX }}>
          <div className="absolute inset-x-0" style={{ top: window_.first * LOG_ROW_PX }}>
            {rows
              .slice(window_.first, window_.last)
              .map((row) =>
                row.kind === 'group' ? (
                  <GroupRow
                    key={`group-${row.group}`}
                    title={groupTitle(row.group)}
                    row={row}
                    onToggle={() => toggle(row.group)}
                  />
                ) : (
                  <LineRow
                    key={`${row.index} ${row.from}`}
                    index={row.index}
                    line={lines[row.index]}
                    query={searched}
                    from={row.from}
                    to={row.to}
                    marked={row.index === linked || row.index === current}
                    onLink={() => link(row.index)}
                  />
                ),
              )}
          </div>
        </div>
      </div>
      {!following && live && lines.length > 0 ? (
        <button
          type="button"
          onClick={toEnd}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 animate-arrive rounded-full border border-line bg-raised px-3 py-1 text-sm shadow-float hover:bg-sunken"
        >
          Follow the end ↓
        </button>
      ) : null}
    </section>
  );
}
