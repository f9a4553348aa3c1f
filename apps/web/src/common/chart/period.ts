// Period of a page's charts, as its URL has it: a range that ends now, or the time between two moments. Pure.
import type { Range } from '../../api/types.ts';
import { isRange } from './ranges.ts';

export interface TimeSpan {
  readonly from: Date;
  readonly to: Date;
}

export interface Period {
  /** Null for a period between two moments. */
  readonly range: Range | null;
  readonly span: TimeSpan | null;
  /** Input of the API's metric calls. */
  readonly input: { readonly range: Range } | TimeSpan;
}

/** Parameters of the URL. */
export const PERIOD_PARAMS = { range: 'range', from: 'from', to: 'to', compare: 'compare' } as const;

/** Reads the period from a URL. Anything that is none counts as missing, and means `fallback`. */
export function parsePeriod(read: (name: string) => string, fallback: Range): Period {
  const [from, to] = [new Date(read(PERIOD_PARAMS.from)), new Date(read(PERIOD_PARAMS.to))];
  if (from < to) {
    const span = { from, to };
    return { range: null, span, input: span };
  }
  const named = read(PERIOD_PARAMS.range);
  const range = isRange(named) ? named : fallback;
  return { range, span: null, input: { range } };
}

/** Formats a moment for the URL. */
export function formatMoment(at: Date): string {
  return at.toISOString().replace('.000Z', 'Z');
}

/** True if the period takes live samples between two refetches: long ranges change slowly. */
export function takesLiveSamples({ range }: Period): boolean {
  return range === '15m' || range === '1h';
}

/** False for a period between two moments, which is over or nearly so. */
export function refetchIntervalMs(period: Period): number | false {
  if (period.range === null) return false;
  if (takesLiveSamples(period)) return 10_000;
  return period.range === '6h' || period.range === '24h' ? 30_000 : 120_000;
}
