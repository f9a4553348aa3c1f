// Figures of a stored row, and whether a request for a path reaches a domain. Pure.
import { decodeHistogram, quantileMs } from '@fairlead/contract/histogram';
import { type BenchmarkRowView, benchmarkProtocolSchema, benchmarkTargetSchema, networkPathSchema } from './schema.ts';

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
  };
}

/** True if a request for the path is below the prefix, compared by whole segments. */
export function isPathAtOrBelow(path: string, prefix: string): boolean {
  const [plain = ''] = path.split('?');
  return prefix === '/' || plain === prefix || plain.startsWith(`${prefix}/`);
}
