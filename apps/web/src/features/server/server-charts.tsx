'use client';
// Charts of a server, loaded after the page: the machine, and the cost of the agent itself.
import { ChartGroup } from '@fairlead/ui/charts/chart-group';
import { TimeSeriesChart } from '@fairlead/ui/charts/time-series';
import { formatBytes, formatCount, formatCpu } from '@fairlead/ui/lib/format';
import type { Range, ServerDetail, ServerMetric } from '../../api/types.ts';
import { takesLiveSamples } from '../../common/chart/ranges.ts';
import { serverRows, serverSampleRow } from '../../common/chart/series.ts';
import { useChartRows } from '../../common/chart/use-chart-rows.ts';

export interface ServerChartsProps {
  readonly server: ServerDetail;
  readonly range: Range;
  readonly metric: ServerMetric;
}

const MEBIBYTE = 1024 * 1024;

export function ServerCharts({ server, range, metric }: ServerChartsProps) {
  const { rows, span, stepMs } = useChartRows({
    range,
    metric,
    live: takesLiveSamples(range),
    toRows: serverRows,
    toLiveRow: (event) =>
      event.type === 'server.sample' && event.serverId === server.id ? serverSampleRow(event) : null,
  });
  return (
    <ChartGroup span={span} stepMs={stepMs}>
      <div className="grid grid-cols-1 gap-x-8 gap-y-6 px-4 pt-2 pb-4 lg:grid-cols-2">
        <TimeSeriesChart
          title="CPU"
          rows={rows}
          series={CPU}
          format={shareOf(server.host.cpuCount)}
          floor={server.host.cpuCount * 1000}
        />
        <TimeSeriesChart
          title="Memory"
          rows={rows}
          series={MEMORY}
          format={formatBytes}
          base={1024}
          floor={server.host.memoryBytes}
        />
        <TimeSeriesChart
          title="Network"
          rows={rows}
          series={NETWORK}
          format={formatRate}
          formatAxis={formatBytes}
          base={1024}
          floor={16 * 1024}
        />
        <TimeSeriesChart
          title="Disk"
          rows={rows}
          series={DISK}
          format={formatBytes}
          base={1024}
          floor={server.host.diskBytes}
        />
        <TimeSeriesChart title="Open connections" rows={rows} series={CONNECTIONS} format={formatCount} floor={4} />
        <TimeSeriesChart
          title="Agent memory"
          rows={rows}
          series={AGENT}
          format={formatBytes}
          base={1024}
          floor={64 * MEBIBYTE}
        />
      </div>
    </ChartGroup>
  );
}

/** Formats CPU as a share of the whole machine, or of one core if the number of cores is unknown. */
function shareOf(cpuCount: number): (millis: number) => string {
  return (millis) => formatCpu(cpuCount > 0 ? millis / cpuCount : millis);
}

function formatRate(bytes: number): string {
  return `${formatBytes(bytes)}/s`;
}

const CPU = [{ key: 'cpu', label: '', color: 'var(--series-teal)', shape: 'area' }] as const;
const MEMORY = [{ key: 'memory', label: '', color: 'var(--series-grey)', shape: 'area' }] as const;
const NETWORK = [
  { key: 'received', label: 'in', color: 'var(--series-blue)' },
  { key: 'sent', label: 'out', color: 'var(--series-violet)' },
] as const;
const DISK = [{ key: 'disk', label: '', color: 'var(--series-grey)', shape: 'area' }] as const;
const CONNECTIONS = [{ key: 'connections', label: '', color: 'var(--series-blue)', shape: 'area' }] as const;
const AGENT = [{ key: 'agentMemory', label: '', color: 'var(--series-orange)', shape: 'area' }] as const;
