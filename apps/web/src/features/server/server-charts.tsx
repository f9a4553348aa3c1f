'use client';
// Charts of a server, loaded after the page: the machine, and the cost of the agent itself.
import { ChartGroup, type TimeSpan } from '@fairlead/ui/charts/chart-group';
import { TimeSeriesChart } from '@fairlead/ui/charts/time-series';
import { useFormats } from '@fairlead/ui/formats';
import { useMemo } from 'react';
import type { ServerDetail, ServerMetric } from '../../api/types.ts';
import { chartRows } from '../../common/chart/chart-rows.ts';
import { ChartsFooter } from '../../common/chart/charts-footer.tsx';
import { liveServerRows, serverRows } from '../../common/chart/series.ts';
import { useLiveSamples } from '../../common/chart/use-live-samples.ts';
import { NoSamples } from './no-samples.tsx';

export interface ServerChartsProps {
  readonly server: ServerDetail;
  readonly metric: ServerMetric;
  /** Chart of the period before. */
  readonly previous: ServerMetric | undefined;
  /** True if live samples continue the chart. */
  readonly isLive: boolean;
  readonly onZoom: (span: TimeSpan) => void;
}

const MEBIBYTE = 1024 * 1024;

export function ServerCharts({ server, metric, previous, isLive, onZoom }: ServerChartsProps) {
  const { formatBytes, formatCount, formatPercent } = useFormats();
  const formatRate = (bytes: number) => `${formatBytes(bytes)}/s`;
  const { stepMs } = metric;
  const { cpuCount } = server.host;
  const samples = useLiveSamples((event) =>
    event.type === 'server.sample' && event.serverId === server.id ? event : null,
  );
  const { rows, span } = useMemo(() => {
    const live = isLive ? liveServerRows(samples, stepMs, cpuCount) : [];
    return chartRows(metric, serverRows(metric.points, cpuCount), live);
  }, [metric, samples, isLive, stepMs, cpuCount]);
  const before = useMemo(
    () =>
      previous === undefined
        ? undefined
        : { rows: serverRows(previous.points, cpuCount), shiftMs: metric.from.getTime() - previous.from.getTime() },
    [previous, metric, cpuCount],
  );
  if (rows.every(({ values }) => values.memory === null)) {
    return <NoSamples />;
  }
  const shared = { rows, previous: before };
  return (
    <ChartGroup span={span} stepMs={stepMs} onZoom={onZoom}>
      <div className="grid grid-cols-1 gap-x-8 gap-y-6 px-4 pt-2 pb-2 lg:grid-cols-2">
        <TimeSeriesChart {...shared} title="CPU" series={CPU} format={formatPercent} floor={1} />
        <TimeSeriesChart
          title="Memory"
          {...shared}
          series={MEMORY}
          format={formatBytes}
          base={1024}
          floor={server.host.memoryBytes}
        />
        <TimeSeriesChart
          title="Network"
          {...shared}
          series={NETWORK}
          format={formatRate}
          formatAxis={formatBytes}
          base={1024}
          floor={16 * 1024}
        />
        <TimeSeriesChart
          title="Disk"
          {...shared}
          series={DISK}
          format={formatBytes}
          base={1024}
          floor={server.diskTotalBytes ?? server.host.diskBytes}
        />
        <TimeSeriesChart {...shared} title="Open connections" series={CONNECTIONS} format={formatCount} floor={4} />
        <TimeSeriesChart
          title="Agent memory"
          {...shared}
          series={AGENT}
          format={formatBytes}
          base={1024}
          floor={64 * MEBIBYTE}
        />
      </div>
      <ChartsFooter at={span.to} />
    </ChartGroup>
  );
}

const CPU = [{ key: 'cpu', label: 'of all cores', color: 'var(--series-teal)', shape: 'area' }] as const;
const MEMORY = [{ key: 'memory', label: '', color: 'var(--series-grey)', shape: 'area' }] as const;
const NETWORK = [
  { key: 'received', label: 'in', color: 'var(--series-blue)' },
  { key: 'sent', label: 'out', color: 'var(--series-violet)' },
] as const;
const DISK = [{ key: 'disk', label: '', color: 'var(--series-grey)', shape: 'area' }] as const;
const CONNECTIONS = [{ key: 'connections', label: '', color: 'var(--series-blue)', shape: 'area' }] as const;
const AGENT = [{ key: 'agentMemory', label: '', color: 'var(--series-orange)', shape: 'area' }] as const;
