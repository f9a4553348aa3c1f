// Rows and time span of charts: fetched points, and the live samples after them. Pure.
import type { TimeRow } from '@fairlead/ui/charts/prepare/time-series';
import { appendLiveRows } from './series.ts';

export interface ChartRows {
  readonly rows: readonly TimeRow[];
  readonly span: { readonly from: number; readonly to: number };
}

/** The span keeps its length and ends with the newest row. */
export function chartRows(
  metric: { readonly from: Date; readonly to: Date; readonly stepMs: number },
  fetched: readonly TimeRow[],
  live: readonly TimeRow[],
): ChartRows {
  const end = metric.to.getTime();
  const newest = Math.max(0, ...live.map(({ at }) => at + metric.stepMs));
  const to = Math.max(end, newest);
  const from = metric.from.getTime() + to - end;
  return { rows: appendLiveRows(fetched, live, end, from), span: { from, to } };
}
