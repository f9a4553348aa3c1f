// Time ranges of charts, each with its refetch interval.
import type { Range } from '../../api/types.ts';

export const ranges: readonly { readonly value: Range; readonly label: string; readonly lengthMs: number }[] = [
  { value: '15m', label: '15 min', lengthMs: 15 * 60_000 },
  { value: '1h', label: '1 h', lengthMs: 3_600_000 },
  { value: '24h', label: '24 h', lengthMs: 86_400_000 },
  { value: '7d', label: '7 d', lengthMs: 7 * 86_400_000 },
];

export function isRange(text: string): text is Range {
  return ranges.some((range) => range.value === text);
}

export function rangeLengthMs(range: Range): number {
  return ranges.find((each) => each.value === range)?.lengthMs ?? 900_000;
}

/** True if the range takes live samples between two refetches: long ranges change slowly. */
export function takesLiveSamples(range: Range): boolean {
  return range === '15m' || range === '1h';
}

export function refetchIntervalMs(range: Range): number {
  return takesLiveSamples(range) ? 30_000 : 120_000;
}
