// Metrics of a row: the figures of charts and tables, in one list.
import { bucketIndex, type Histogram, quantileMs } from '@fairlead/contract/buckets';
import type { BenchmarkDocumentRow } from '@fairlead/core/benchmark/document';
import { otherShare, stealShare } from '@fairlead/core/benchmark/noise';
import { byteUnit, formatBytes, formatMs, formatNumber, formatShare, formatUs } from './format.ts';

export interface Metric {
  readonly id: string;
  readonly title: string;
  /** Heading of its column. */
  readonly heading: string;
  readonly unit: string;
  readonly of: (row: BenchmarkDocumentRow) => number | null;
  readonly format: (value: number) => string;
  /** True if the table compares it with the baseline. */
  readonly isCompared: boolean;
  /** True if it has a chart by concurrency. */
  readonly isCharted: boolean;
  /** Bounds of its axis; default: from 0 to the highest value. */
  readonly domain?: readonly [number, number];
  /** Returns the unit in which the axis has round figures, for one of its values. Default: 1. */
  readonly axisUnit?: (value: number) => number;
}

export const THROUGHPUT: Metric = {
  id: 'throughput',
  title: 'Throughput',
  heading: 'Requests/s',
  unit: 'requests/s',
  of: (row) => (isIdle(row) || row.durationMs === 0 ? null : row.requests / (row.durationMs / 1000)),
  format: formatNumber,
  isCompared: true,
  isCharted: true,
};
export const CPU: Metric = {
  id: 'cpu',
  title: 'CPU per request',
  heading: 'CPU/request',
  unit: 'of the proxy, lower is better',
  of: (row) => perRequest(row, row.proxyCpuUs),
  format: formatUs,
  isCompared: true,
  isCharted: true,
};
export const P50: Metric = latency('p50', 0.5, false);
export const P99: Metric = latency('p99', 0.99, true);
export const P999: Metric = latency('p99.9', 0.999, false);

/** In the order of the table. */
export const METRICS: readonly Metric[] = [
  THROUGHPUT,
  P50,
  P99,
  P999,
  {
    ...{ id: 'success', title: 'Success rate', heading: 'Success', unit: '2xx responses' },
    of: successRate,
    format: formatShare,
    ...{ isCompared: false, isCharted: true, domain: [0, 1] },
  },
  CPU,
  {
    ...{ id: 'app-cpu', title: 'CPU of the app', heading: 'App CPU', unit: 'per request' },
    of: (row) => perRequest(row, row.appCpuUs),
    format: formatUs,
    ...{ isCompared: false, isCharted: false },
  },
  {
    ...{ id: 'generator-cpu', title: 'CPU of the generator', heading: 'Generator CPU', unit: 'per request' },
    of: (row) => perRequest(row, row.generatorCpuUs),
    format: formatUs,
    ...{ isCompared: false, isCharted: false },
  },
  {
    ...{ id: 'memory', title: 'Memory', heading: 'Proxy PSS', unit: 'PSS of the proxy' },
    of: (row) => row.proxyMemoryBytes,
    format: formatBytes,
    axisUnit: byteUnit,
    ...{ isCompared: true, isCharted: true },
  },
  {
    ...{ id: 'rss', title: 'Resident memory', heading: 'Proxy RSS', unit: 'RSS of the proxy' },
    of: (row) => row.proxyRssBytes ?? null,
    format: formatBytes,
    ...{ isCompared: false, isCharted: false },
  },
  {
    ...{ id: 'idle', title: 'Memory of an idle connection', heading: 'Memory/connection', unit: 'PSS' },
    of: memoryPerConnection,
    format: formatBytes,
    ...{ isCompared: true, isCharted: false },
  },
  {
    ...{ id: 'other-cpu', title: 'CPU of other processes', heading: 'Other CPU', unit: 'of the machine' },
    of: ({ noise }) => otherShare(noise),
    format: formatShare,
    ...{ isCompared: false, isCharted: false },
  },
  {
    ...{ id: 'steal', title: 'Stolen CPU', heading: 'Steal', unit: 'of the machine' },
    of: ({ noise }) => stealShare(noise),
    format: formatShare,
    ...{ isCompared: false, isCharted: false },
  },
];

export function histogramOf({ latency: { buckets, sumUs } }: BenchmarkDocumentRow): Histogram {
  return { counts: new Map(buckets.map(([lowUs, , requests]) => [bucketIndex(lowUs), requests])), sumUs };
}

function latency(name: string, quantile: number, isShown: boolean): Metric {
  return {
    ...{ id: name, title: `${name} latency`, heading: name, unit: 'lower is better' },
    of: (row) => (isIdle(row) ? null : quantileMs(histogramOf(row), quantile)),
    format: formatMs,
    ...{ isCompared: isShown, isCharted: isShown },
  };
}

function isIdle({ connection }: BenchmarkDocumentRow): boolean {
  return connection === 'idle';
}

function successRate({ requests, errors }: BenchmarkDocumentRow): number | null {
  return requests + errors === 0 ? null : requests / (requests + errors);
}

function perRequest(row: BenchmarkDocumentRow, us: number | null | undefined): number | null {
  return isIdle(row) || us === null || us === undefined || row.requests === 0 ? null : us / row.requests;
}

function memoryPerConnection(row: BenchmarkDocumentRow): number | null {
  const { proxyMemoryBytes: after, proxyMemoryBeforeBytes: before } = row;
  const connections = row.clients ?? row.concurrency;
  if (!isIdle(row) || after === null || before === null || before === undefined || connections === 0) return null;
  return (after - before) / connections;
}
