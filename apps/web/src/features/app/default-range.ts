// Range of an app's charts when the URL names none: the shortest with a request, so that a quiet app shows its last ones.
import type { AppMetric, Range } from '../../api/types.ts';

const CANDIDATES: readonly Range[] = ['15m', '1h', '24h'];

/** `load` returns the chart of a range; undefined if it can't be loaded. */
export async function defaultRange(load: (range: Range) => Promise<AppMetric | undefined>): Promise<Range> {
  for (const range of CANDIDATES) {
    const metric = await load(range);
    if (metric === undefined) break;
    if (metric.totals.requests > 0) return range;
  }
  return '15m';
}
