'use client';
// Relative times with the exact time in the title, and durations that count while something runs.
import { useNow } from './lib/clock.ts';
import { formatAbsolute, formatAgo, formatDuration } from './lib/format.ts';

export function RelativeTime({ at, className }: { readonly at: Date; readonly className?: string }) {
  const now = useNow();
  return (
    // The server renders a moment before the browser: the texts may differ by a second.
    <time dateTime={at.toISOString()} title={formatAbsolute(at)} className={className} suppressHydrationWarning>
      {formatAgo(at, now)}
    </time>
  );
}

export interface ElapsedProps {
  readonly from: Date;
  /** Null while it still runs. */
  readonly until: Date | null;
  readonly className?: string;
}

export function Elapsed({ from, until, className }: ElapsedProps) {
  return until === null ? (
    <Running from={from} className={className} />
  ) : (
    <span className={className}>{formatDuration(until.getTime() - from.getTime())}</span>
  );
}

function Running({ from, className }: { readonly from: Date; readonly className: string | undefined }) {
  const now = useNow('tenth');
  return (
    <span className={className} suppressHydrationWarning>
      {formatDuration(Math.max(0, now - from.getTime()))}
    </span>
  );
}
