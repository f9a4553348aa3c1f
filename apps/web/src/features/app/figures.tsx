'use client';
// Current figures of the app. Digits roll to their new values without moving the layout.
import { cn } from '@fairlead/ui/lib/class-names';
import { formatBytes, formatCount, formatCpu, formatMs } from '@fairlead/ui/lib/format';
import { RollingNumber } from '@fairlead/ui/rolling-number';
import type { AppDetail, AppMetric } from '../../api/types.ts';
import { placementKey, useLiveAppFigures } from '../../common/app/use-live-figures.ts';

export interface FiguresProps {
  readonly app: AppDetail;
  /** Measurements before the first live sample. */
  readonly points: AppMetric['points'];
}

export function Figures({ app, points }: FiguresProps) {
  const live = useLiveAppFigures().get(placementKey(app.id, app.environmentId));
  const measured = points.findLast((point) => point.memoryBytes !== null);
  const sample = live ?? measured;
  // Quantiles of several servers cannot be combined in the browser: wait for the next refetch.
  const latency = app.serverCount === 1 && live?.latency ? live.latency : measured;
  const errors = sample?.errorsPerSecond ?? app.errorsPerSecond;
  const figures = [
    { label: 'Requests/s', text: formatCount(sample?.requestsPerSecond ?? app.requestsPerSecond) },
    { label: 'p50', text: formatMs(latency?.p50Ms) },
    { label: 'p95', text: formatMs(latency?.p95Ms) },
    { label: 'p99', text: formatMs(latency?.p99Ms ?? app.p99Ms) },
    { label: 'Errors/s', text: formatCount(errors), bad: errors > 0 },
    { label: 'CPU', text: formatCpu(sample?.cpuMillis) },
    { label: 'Memory', text: formatBytes(sample?.memoryBytes) },
  ];
  return (
    <dl
      aria-label="Now"
      className="grid grid-cols-2 gap-px overflow-hidden rounded-card border border-line bg-line sm:grid-cols-4 xl:grid-cols-7"
    >
      {figures.map((figure) => (
        <div key={figure.label} className="bg-surface px-4 py-3 last:max-xl:col-span-2">
          <dt className="text-sm text-ink-faint">{figure.label}</dt>
          <dd className={cn('mt-0.5 text-xl font-semibold tracking-[-0.01em]', figure.bad === true && 'text-bad-text')}>
            <RollingNumber text={figure.text} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
