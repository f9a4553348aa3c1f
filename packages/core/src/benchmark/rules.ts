// Figures of a stored row, and whether a request for a path reaches a domain. Pure.
import { decodeHistogram, quantileMs } from '@fairlead/contract/histogram';
import { z } from 'zod';
import {
  type BenchmarkRowView,
  benchmarkPhaseSchema,
  benchmarkProbeSchema,
  benchmarkProtocolSchema,
  benchmarkTargetSchema,
  linkReportSchema,
  machineNoiseSchema,
  networkPathSchema,
  type RowPart,
  rowPartSchema,
} from './schema.ts';

/** Percentiles of the latency of a row: the ones that the benchmark of kamal-proxy reports. */
const PERCENTILES = [10, 25, 50, 75, 90, 95, 99, 99.9, 99.99] as const;

const failuresSchema = z.record(z.string(), z.number());

export interface StoredRow {
  readonly id: string;
  readonly position: number;
  readonly round: number;
  readonly target: string;
  readonly protocol: string;
  readonly networkPath: string | null;
  readonly concurrency: number;
  readonly durationMs: number;
  readonly requests: bigint;
  readonly errors: bigint;
  readonly latency: Uint8Array;
  readonly proxyCpuUs: bigint;
  readonly proxyMemoryBytes: bigint;
  readonly bytesReceived: bigint;
  readonly phase: string | null;
  readonly probe: string | null;
  readonly failures: unknown;
  readonly generatorCpuUs: bigint;
  readonly isSaturated: boolean;
  readonly appCpuUs: bigint;
  readonly clients: number;
  readonly latencyMaxUs: bigint;
  readonly unsent: bigint;
  readonly noise: unknown;
  readonly link: unknown;
  readonly appConnections: number;
  readonly parts: unknown;
}

export function toRowView(row: StoredRow): BenchmarkRowView {
  const latency = decodeHistogram(row.latency);
  const requests = Number(row.requests);
  const cpuUs = Number(row.proxyCpuUs);
  const memory = Number(row.proxyMemoryBytes);
  return {
    id: row.id,
    position: row.position,
    round: row.round,
    target: benchmarkTargetSchema.parse(row.target),
    protocol: benchmarkProtocolSchema.parse(row.protocol),
    networkPath: networkPathSchema.nullable().parse(row.networkPath),
    concurrency: row.concurrency,
    durationMs: row.durationMs,
    requests,
    errors: Number(row.errors),
    requestsPerSecond: row.durationMs > 0 ? requests / (row.durationMs / 1000) : 0,
    p50Ms: quantileMs(latency, 0.5),
    p90Ms: quantileMs(latency, 0.9),
    p99Ms: quantileMs(latency, 0.99),
    cpuUsPerRequest: requests > 0 && cpuUs > 0 ? cpuUs / requests : null,
    proxyMemoryBytes: memory > 0 ? memory : null,
    bytesReceived: Number(row.bytesReceived),
    p999Ms: quantileMs(latency, 0.999),
    maxMs: row.latencyMaxUs > 0n ? Number(row.latencyMaxUs) / 1000 : null,
    phase: benchmarkPhaseSchema.nullable().parse(row.phase),
    probe: benchmarkProbeSchema.nullable().parse(row.probe),
    failures: failuresSchema.parse(row.failures),
    generatorCpuUs: Number(row.generatorCpuUs),
    generatorSaturated: row.isSaturated,
    appCpuUs: Number(row.appCpuUs),
    clients: row.clients,
    unsent: Number(row.unsent),
    noise: machineNoiseSchema.nullable().parse(row.noise),
    link: linkReportSchema.nullable().parse(row.link),
    appConnections: row.appConnections,
    parts: rowPartSchema
      .array()
      .parse(row.parts)
      .map((part) => toPartView(part, row.durationMs)),
    percentiles: PERCENTILES.flatMap((percent) => {
      const ms = quantileMs(latency, percent / 100);
      return ms === null ? [] : [{ percent, ms }];
    }),
  };
}

function toPartView({ latency, latencyMaxUs, bytesReceived, failures, ...part }: RowPart, durationMs: number) {
  const histogram = { counts: new Map(latency.counts), sumUs: latency.sumUs };
  return {
    ...part,
    requestsPerSecond: durationMs > 0 ? part.requests / (durationMs / 1000) : 0,
    p50Ms: quantileMs(histogram, 0.5),
    p99Ms: quantileMs(histogram, 0.99),
  };
}

/** True if a request for the path is below the prefix, compared by whole segments as the proxy does. */
export function isPathAtOrBelow(path: string, prefix: string): boolean {
  const [plain = ''] = path.split(/[?#]/);
  return prefix === '/' || plain === prefix || plain.startsWith(`${prefix}/`);
}
