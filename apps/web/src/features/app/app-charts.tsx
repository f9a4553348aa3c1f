'use client';
// Charts of an app: requests, latency, errors, CPU and memory with a shared cursor. Loaded after the page.
import { ChartGroup, type TimeSpan } from '@fairlead/ui/charts/chart-group';
import type { Marker } from '@fairlead/ui/charts/prepare/markers';
import type { TimeRow } from '@fairlead/ui/charts/prepare/time-series';
import { type PreviousRows, TimeSeriesChart } from '@fairlead/ui/charts/time-series';
import { useFormats } from '@fairlead/ui/formats';
import { ChartsFooter } from '../../common/chart/charts-footer.tsx';

export interface AppChartsProps {
  readonly rows: readonly TimeRow[];
  readonly span: TimeSpan;
  readonly stepMs: number;
  readonly markers: readonly Marker[];
  /** Rows of the period before. */
  readonly previous: PreviousRows | undefined;
  /** False: one line replaces the charts of requests. */
  readonly hasRequests: boolean;
  readonly onZoom: (span: TimeSpan) => void;
}

const MEBIBYTE = 1024 * 1024;

export function AppCharts({ rows, span, stepMs, markers, previous, hasRequests, onZoom }: AppChartsProps) {
  const { formatBytes, formatCount, formatMs, formatPercent } = useFormats();
  const shared = { rows, previous };
  return (
    <ChartGroup span={span} stepMs={stepMs} markers={markers} onZoom={onZoom}>
      <div className="grid grid-cols-1 gap-x-8 gap-y-6 px-4 pt-2 pb-2 lg:grid-cols-2">
        {hasRequests ? (
          <>
            <TimeSeriesChart
              {...shared}
              className="lg:col-span-2"
              title="Requests/s"
              series={REQUESTS}
              previousKeys={['requests']}
              extra={{ key: 'requests', label: 'all' }}
              format={formatCount}
              floor={1}
              height={200}
            />
            <TimeSeriesChart
              {...shared}
              title="Latency"
              series={LATENCY}
              previousKeys={['p50', 'p99']}
              band={LATENCY_BAND}
              format={formatMs}
              floor={1}
            />
            <TimeSeriesChart {...shared} title="Errors/s" series={ERRORS} format={formatCount} floor={1} />
          </>
        ) : (
          <p className="rounded-control bg-sunken px-4 py-3 text-ink-soft lg:col-span-2">No requests in this period.</p>
        )}
        <TimeSeriesChart {...shared} title="CPU" series={CPU} format={formatPercent} floor={0.05} />
        <TimeSeriesChart
          {...shared}
          title="Memory"
          series={MEMORY}
          format={formatBytes}
          base={1024}
          floor={64 * MEBIBYTE}
        />
      </div>
      <ChartsFooter at={span.to} />
    </ChartGroup>
  );
}

const REQUESTS = [
  { key: 'successes', label: '2xx, 3xx', color: 'var(--series-blue)', shape: 'area', stacked: true },
  { key: 'clientErrors', label: '4xx', color: 'var(--series-orange)', shape: 'area', stacked: true },
  { key: 'errors', label: '5xx', color: 'var(--series-red)', shape: 'area', stacked: true },
] as const;
const LATENCY = [
  { key: 'p50', label: 'p50', color: 'var(--latency-p50)' },
  { key: 'p95', label: 'p95', color: 'var(--latency-p95)' },
  { key: 'p99', label: 'p99', color: 'var(--latency-p99)' },
] as const;
const LATENCY_BAND = { low: 'p50', high: 'p99', color: 'var(--latency-p95)' } as const;
const ERRORS = [
  { key: 'clientErrors', label: '4xx', color: 'var(--series-orange)' },
  { key: 'errors', label: '5xx and failed', color: 'var(--series-red)', shape: 'area' },
] as const;
const CPU = [{ key: 'cpu', label: 'of all cores', color: 'var(--series-teal)', shape: 'area' }] as const;
const MEMORY = [{ key: 'memory', label: '', color: 'var(--series-grey)', shape: 'area' }] as const;
