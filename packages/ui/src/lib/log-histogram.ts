// Counts of log lines over time, for the histogram above a log. Pure.
import type { LogViewLine } from './log-lines.ts';

export interface LogBucket {
  readonly startMs: number;
  readonly errors: number;
  readonly warnings: number;
  readonly others: number;
}

/** Divides the time from the first to the last line into buckets of equal length; empty without two moments. */
export function logBuckets(lines: readonly Pick<LogViewLine, 'level' | 'unixMs'>[], count: number): LogBucket[] {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { unixMs } of lines) {
    if (unixMs === null) continue;
    from = Math.min(from, unixMs);
    to = Math.max(to, unixMs);
  }
  if (!(from < to)) return [];
  const lengthMs = (to - from) / count;
  const buckets = Array.from({ length: count }, (_, at) => ({
    startMs: from + at * lengthMs,
    errors: 0,
    warnings: 0,
    others: 0,
  }));
  for (const { unixMs, level } of lines) {
    if (unixMs === null) continue;
    const bucket = buckets[Math.min(count - 1, Math.floor((unixMs - from) / lengthMs))];
    if (bucket === undefined) continue;
    bucket[level === 'error' ? 'errors' : level === 'warn' ? 'warnings' : 'others'] += 1;
  }
  return buckets;
}
