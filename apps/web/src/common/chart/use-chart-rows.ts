'use client';
// Rows and time span of charts: fetched points, and the live samples since then.
import type { LiveEvent } from '@fairlead/contract/live';
import type { TimeRow } from '@fairlead/ui/charts/prepare/time-series';
import { useMemo, useState } from 'react';
import { useLiveEvents } from '../../api/live.tsx';
import type { Range } from '../../api/types.ts';
import { rangeLengthMs } from './ranges.ts';
import { appendLiveRows } from './series.ts';

/** Live rows are kept for longer than the time between two refetches. */
const KEPT_MS = 180_000;

export interface ChartRowsOptions<Point> {
  readonly range: Range;
  readonly metric: { readonly points: readonly Point[]; readonly stepMs: number; readonly to: Date };
  /** True if live samples continue the fetched points. */
  readonly live: boolean;
  readonly toRows: (points: readonly Point[]) => TimeRow[];
  /** Returns null for events of other apps or servers. */
  readonly toLiveRow: (event: LiveEvent) => TimeRow | null;
}

export function useChartRows<Point>({ range, metric, live, toRows, toLiveRow }: ChartRowsOptions<Point>) {
  const liveRows = useLiveRows(toLiveRow);
  const { stepMs } = metric;
  const to = Math.max(metric.to.getTime(), live ? (liveRows.at(-1)?.at ?? 0) : 0);
  const span = useMemo(() => ({ from: to - rangeLengthMs(range), to }), [to, range]);
  const rows = useMemo(() => {
    const fetched = toRows(metric.points);
    return live ? appendLiveRows(fetched, liveRows, stepMs, span.from) : fetched;
  }, [metric, liveRows, live, stepMs, span.from, toRows]);
  return { rows, span, stepMs };
}

/** Returns the live samples since the page was opened. */
function useLiveRows(toLiveRow: (event: LiveEvent) => TimeRow | null): readonly TimeRow[] {
  const [liveRows, setLiveRows] = useState<readonly TimeRow[]>([]);
  useLiveEvents((event) => {
    const row = toLiveRow(event);
    if (row !== null)
      setLiveRows((rows) => [...rows.filter((each) => each.at > row.at - KEPT_MS && each.at !== row.at), row]);
  });
  return liveRows;
}
