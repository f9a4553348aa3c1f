'use client';
import { useFormats } from '@fairlead/ui/formats';
// Current figures of the app. A stale one is grey and shows its age.
import { cn } from '@fairlead/ui/lib/class-names';
import { useNow } from '@fairlead/ui/lib/clock';
import { formatAgo } from '@fairlead/ui/lib/format';
import { LiveFigure } from '@fairlead/ui/live-figure';
import { useState, useSyncExternalStore } from 'react';
import { liveHealth } from '../../api/live-health.ts';
import type { AppDetail, AppMetric } from '../../api/types.ts';
import { placementOf } from '../../common/app/app-placement.ts';
import { placementKey, useLiveAppFigures } from '../../common/app/use-live-figures.ts';
import { type CurrentFigures, coresOf, currentFigures, type Figure } from '../../common/figure/figures.ts';

export interface FiguresProps {
  readonly app: AppDetail;
  /** Measurements before the first live sample. */
  readonly points: AppMetric['points'];
  readonly stepMs: number;
  /** Time when they were loaded. The server's first render and the browser's show the ages of that moment. */
  readonly loadedAt: number;
}

export function Figures({ app, points, stepMs, loadedAt }: FiguresProps) {
  const live = useLiveAppFigures().get(placementKey(app.id, app.environmentId));
  const status = useSyncExternalStore(liveHealth.subscribe, liveHealth.read, () => 'idle');
  const clock = useNow();
  const now = status === 'idle' ? loadedAt : clock;
  const [openedAt] = useState(loadedAt);
  const isStreaming = status === 'live';
  return (
    <FigureList
      figures={currentFigures({ app, live, points, stepMs, isStreaming, openedAt, now })}
      cores={coresOf(placementOf(app)?.servers ?? [])}
      now={now}
    />
  );
}

export interface FigureListProps {
  readonly figures: CurrentFigures;
  /** Cores of the app's servers; 0: unknown. */
  readonly cores: number;
  readonly now: number;
}

export function FigureList({ figures, cores, now }: FigureListProps) {
  const { formatBytes, formatCount, formatCpu, formatMs, plural } = useFormats();
  const items: { label: string; figure: Figure; format: (value: number) => string; isBad?: boolean }[] = [
    { label: 'Requests/s', figure: figures.requestsPerSecond, format: formatCount },
    { label: 'p50', figure: figures.p50Ms, format: formatMs },
    { label: 'p95', figure: figures.p95Ms, format: formatMs },
    { label: 'p99', figure: figures.p99Ms, format: formatMs },
    {
      label: 'Errors/s',
      figure: figures.errorsPerSecond,
      format: formatCount,
      isBad: (figures.errorsPerSecond.value ?? 0) > 0,
    },
    {
      label: cores > 0 ? `CPU of ${plural(cores, 'core')}` : 'CPU',
      figure: figures.cpuMillis,
      format: (millis) => formatCpu(millis, cores),
    },
    { label: 'Memory', figure: figures.memoryBytes, format: formatBytes },
  ];
  return (
    <dl
      aria-label="Now"
      className="grid grid-cols-2 gap-px overflow-hidden rounded-card border border-line bg-line sm:grid-cols-4 xl:grid-cols-7"
    >
      {items.map(({ label, figure: { value, staleSince }, format, isBad = false }) => (
        <div key={label} className="min-w-0 bg-surface px-4 py-3 last:max-xl:col-span-2">
          <dt className="truncate text-ink-faint text-sm">{label}</dt>
          <dd
            className={cn(
              'mt-0.5 flex items-baseline gap-x-1.5 whitespace-nowrap font-semibold text-xl tracking-[-0.01em]',
              isBad && 'text-bad-text',
              staleSince !== null && 'text-ink-faint',
            )}
          >
            <LiveFigure text={value === null ? '–' : format(value)} />
            {staleSince === null ? null : (
              <span className="truncate font-normal text-xs tracking-normal">{formatAgo(staleSince, now)}</span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
