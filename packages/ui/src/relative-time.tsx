'use client';
// Relative times with the exact time in the title, and durations that count while something runs.
import { useFormats } from './formats.tsx';
import { useNow } from './lib/clock.ts';
import { formatAgo } from './lib/format.ts';

export function RelativeTime({ at, className }: { readonly at: Date; readonly className?: string }) {
  const now = useNow();
  const { formatExact } = useFormats();
  return (
    // The server renders a moment before the browser: the texts may differ by a second.
    <time dateTime={at.toISOString()} title={formatExact(at)} className={className} suppressHydrationWarning>
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
  const { formatDuration } = useFormats();
  return until === null ? (
    <Running from={from} className={className} />
  ) : (
    <span className={className}>{formatDuration(until.getTime() - from.getTime())}</span>
  );
}

function Running({ from, className }: { readonly from: Date; readonly className: string | undefined }) {
  const now = useNow('tenth');
  const { formatDuration } = useFormats();
  return (
    <span className={className} suppressHydrationWarning>
      {formatDuration(Math.max(0, now - from.getTime()))}
    </span>
  );
}
