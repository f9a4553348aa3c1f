// Time ranges of charts that end now.
import type { Range } from '../../api/types.ts';

export const ranges: readonly { readonly value: Range; readonly label: string }[] = [
  { value: '15m', label: '15 min' },
  { value: '1h', label: '1 h' },
  { value: '6h', label: '6 h' },
  { value: '24h', label: '24 h' },
  { value: '7d', label: '7 d' },
  { value: '30d', label: '30 d' },
];

export function isRange(text: string): text is Range {
  return ranges.some((range) => range.value === text);
}

/** Returns the ranges beside one, which a reader is likely to choose next. */
export function neighboursOf(range: Range): Range[] {
  const at = ranges.findIndex(({ value }) => value === range);
  return [ranges[at - 1], ranges[at + 1]].flatMap((each) => (each === undefined ? [] : [each.value]));
}
