'use client';
// Charts of an app: requests, latency, errors, CPU and memory with a shared cursor. Loaded after the page.
import { ChartGroup } from '@fairlead/ui/charts/chart-group';
import { TimeSeriesChart } from '@fairlead/ui/charts/time-series';
import { formatBytes, formatCount, formatCpu, formatMs } from '@fairlead/ui/lib/format';
import { useMemo } from 'react';
import type { AppDetail, AppMetric, Range } from '../../api/types.ts';
import { takesLiveSamples } from '../../common/chart/ranges.ts';
import { appRows, appSampleRow, deployMarkers } from '../../common/chart/series.ts';
import { useChartRows } from '../../common/chart/use-chart-rows.ts';
import { useMe } from '../../common/organization/me.tsx';

export interface AppChartsProps {
  readonly app: AppDetail;
  readonly range: Range;
  readonly metric: AppMetric;
}

const MEBIBYTE = 1024 * 1024;

export function AppCharts({ app, range, metric }: AppChartsProps) {
  const { paths } = useMe();
  const { rows, span, stepMs } = useChartRows({
    range,
    metric,
    // Quantiles of several servers cannot be combined in the browser: wait for the next refetch.
    live: takesLiveSamples(range) && app.serverCount === 1,
    toRows: appRows,
    toLiveRow: (event) =>
      event.type === 'app.sample' && event.appId === app.id && event.environmentId === app.environmentId
        ? appSampleRow(event)
        : null,
  });
  const markers = useMemo(() => deployMarkers(metric.markers, paths.deployment), [metric, paths]);

  return (
    <ChartGroup span={span} stepMs={stepMs} markers={markers}>
      <div className="grid grid-cols-1 gap-x-8 gap-y-6 px-4 pt-2 pb-4 lg:grid-cols-2">
        <TimeSeriesChart
          className="lg:col-span-2"
          title="Requests"
          rows={rows}
          series={REQUESTS}
          format={formatCount}
          floor={1}
          height={200}
          emptyText="No requests in this period"
        />
        <TimeSeriesChart title="Latency" rows={rows} series={LATENCY} band={LATENCY_BAND} format={formatMs} floor={1} />
        <TimeSeriesChart title="Errors" rows={rows} series={ERRORS} format={formatCount} floor={1} />
        <TimeSeriesChart title="CPU" rows={rows} series={CPU} format={formatCpu} floor={50} />
        <TimeSeriesChart
          title="Memory"
          rows={rows}
          series={MEMORY}
          format={formatBytes}
          base={1024}
          floor={64 * MEBIBYTE}
        />
      </div>
    </ChartGroup>
  );
}

const REQUESTS = [{ key: 'requests', label: 'per second', color: 'var(--series-blue)', shape: 'area' }] as const;
const LATENCY = [
  { key: 'p50', label: 'p50', color: 'var(--latency-p50)' },
  { key: 'p95', label: 'p95', color: 'var(--latency-p95)' },
  { key: 'p99', label: 'p99', color: 'var(--latency-p99)' },
] as const;
const LATENCY_BAND = { low: 'p50', high: 'p99', color: 'var(--latency-p95)' } as const;
const ERRORS = [{ key: 'errors', label: 'per second', color: 'var(--series-red)', shape: 'area' }] as const;
const CPU = [{ key: 'cpu', label: 'of one core', color: 'var(--series-teal)', shape: 'area' }] as const;
const MEMORY = [{ key: 'memory', label: '', color: 'var(--series-grey)', shape: 'area' }] as const;
