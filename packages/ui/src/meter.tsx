// Gauge of a used share, with label and figure beside the bar.
import { cn } from './lib/class-names.ts';

export interface MeterProps {
  readonly label: string;
  /** Used share from 0 to 1; null when nothing was measured yet. */
  readonly share: number | null;
  readonly text: string;
  /** Share from which the gauge is a warning. */
  readonly warnAbove?: number;
  /** True where a heading, such as a column's, shows the label already. */
  readonly isLabelHidden?: boolean;
  readonly className?: string;
}

export function Meter({ label, share, text, warnAbove = 0.9, isLabelHidden = false, className }: MeterProps) {
  const known = share !== null && Number.isFinite(share);
  const percent = known ? Math.min(100, Math.max(0, share * 100)) : 0;
  const warns = known && share > warnAbove;
  return (
    <div className={cn('min-w-0', className)}>
      <div className="flex items-baseline justify-between gap-2 text-sm">
        <span className={isLabelHidden ? 'sr-only' : 'text-ink-faint'}>{label}</span>
        <span className={cn('tabular truncate font-mono text-xs', warns ? 'text-warn-text' : 'text-ink-soft')}>
          {text}
        </span>
      </div>
      {/* The text above has the figure for screen readers; the bar is visual only. */}
      <div aria-hidden="true" className="mt-1.5 h-1 overflow-hidden rounded-full bg-line">
        <div
          className={cn('h-full rounded-full transition-[width] duration-180', warns ? 'bg-warn' : 'bg-series-teal')}
          style={{ width: `${percent}%` }}
        />
      </div>
    </div>
  );
}
