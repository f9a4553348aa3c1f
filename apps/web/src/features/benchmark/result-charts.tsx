'use client';
// Charts of a benchmark run, loaded after the page. A target has the same colour in all of them.
import { Multiples } from '@fairlead/ui/charts/multiples';
import { useFormats } from '@fairlead/ui/formats';
import { useMemo } from 'react';
import {
  benchmarkTargets,
  measurementsOf,
  type ResultRow,
  referenceLabel,
  successRate,
  targetColor,
  targetLabel,
} from './results.ts';

const COLORS = Object.fromEntries([
  ...benchmarkTargets.map((target) => [targetLabel[target], targetColor[target]]),
  [referenceLabel, 'var(--series-grey)'],
]);
const X_LABEL = 'Concurrency';

export function ResultCharts({ rows }: { readonly rows: readonly ResultRow[] }) {
  const { formatBytes, formatCount, formatMs, formatPercent } = useFormats();
  const charts = useMemo(
    () => ({
      throughput: measurementsOf(rows, (row) => row.requestsPerSecond),
      p99: measurementsOf(rows, (row) => row.p99Ms),
      successRate: measurementsOf(rows, successRate),
      memory: measurementsOf(
        rows.filter((row) => row.target !== 'direct'),
        (row) => row.proxyMemoryBytes,
      ),
    }),
    [rows],
  );
  const shared = { colors: COLORS, xLabel: X_LABEL };
  return (
    <div className="flex flex-col gap-8 px-4 pt-2 pb-5">
      <Multiples
        {...shared}
        title="Throughput"
        detail="requests/s"
        measurements={charts.throughput}
        format={formatCount}
      />
      <Multiples {...shared} title="p99 latency" detail="lower is better" measurements={charts.p99} format={formatMs} />
      <div className="grid grid-cols-1 gap-8 xl:grid-cols-2">
        <Multiples
          {...shared}
          title="Success rate"
          detail="2xx responses"
          measurements={charts.successRate}
          format={formatPercent}
          height={130}
        />
        <Multiples
          {...shared}
          title="Proxy memory"
          measurements={charts.memory}
          format={formatBytes}
          base={1024}
          height={130}
        />
      </div>
    </div>
  );
}
