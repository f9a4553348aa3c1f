// Text of totals and of their change. Pure.
import type { Formats } from '@fairlead/ui/formats';

interface Total {
  readonly current: number | null;
  readonly before: number | null;
}

/** Formats a share; a dash without data. */
export function formatShare(share: number | null, { formatPercent }: Formats): string {
  return share === null ? '–' : formatPercent(share);
}

/** Returns the change in percent; null if there is nothing to compare. */
export function changeOfCount({ current, before }: Total, { formatInteger }: Formats): string | null {
  if (current === null || before === null) return null;
  if (current === before) return 'No change';
  // From nothing, no percentage says how much more it is.
  if (before === 0) return `Up from 0`;
  const percent = ((current - before) / before) * 100;
  const size = Math.abs(percent);
  return `${percent > 0 ? '+' : '−'}${size < 1 ? '< 1' : formatInteger(size)} %`;
}

/** Returns the change in percentage points; null if there is nothing to compare. */
export function changeOfShare({ current, before }: Total, formats: Formats): string | null {
  if (current === null || before === null) return null;
  const change = current - before;
  if (change === 0) return 'No change';
  return `${change > 0 ? '+' : '−'}${formatShare(Math.abs(change), formats).replace(' %', ' pp')}`;
}
