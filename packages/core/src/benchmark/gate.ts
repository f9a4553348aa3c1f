// Measured rounds of a deployment's benchmark gate: parses them from a server's report, and evaluates them for readers.
// Invariant: the agent decides about traffic; its result and this one come from the same rows by the same rule.
import { type BenchmarkRow, NetworkPath } from '@fairlead/contract/agent';
import { histogramFromWire, quantileMs } from '@fairlead/contract/histogram';
import { z } from 'zod';
import {
  type GateResult,
  type NetworkPathName,
  networkPathSchema,
  type Threshold,
  type ThresholdMetric,
} from './schema.ts';
import { evaluateThresholds, type ThresholdRow } from './thresholds.ts';

const count = z.number().int().min(0);

const storedRowSchema = z.object({
  round: count,
  concurrency: count,
  durationMs: count,
  requests: count,
  errors: count,
  networkPath: networkPathSchema.nullable(),
  /** Bucket and requests of the latency histogram. */
  latency: z.array(z.tuple([count, count])),
  latencySumUs: count,
});
const storedGateSchema = z.array(storedRowSchema);
type StoredGateRow = z.infer<typeof storedRowSchema>;

const networkPaths: Readonly<Partial<Record<NetworkPath, NetworkPathName>>> = {
  [NetworkPath.SHARED_NETWORK]: 'shared-network',
  [NetworkPath.OWN_NETWORK]: 'own-network',
  [NetworkPath.UNIX_SOCKET]: 'unix-socket',
};

/** Leaves out impossible rows, because an agent's numbers are never trusted. At most `rowsMax`. */
export function readGateRows(rows: readonly BenchmarkRow[]): StoredGateRow[] {
  return rows.slice(0, rowsMax).flatMap((row) => {
    const latency = histogramFromWire(row.latency);
    if (latency === null) return [];
    const parsed = storedRowSchema.safeParse({
      round: row.round,
      concurrency: row.concurrency,
      durationMs: row.durationMs,
      requests: Number(row.requests),
      errors: Number(row.errors),
      networkPath: networkPaths[row.networkPath] ?? null,
      latency: [...latency.counts],
      latencySumUs: latency.sumUs,
    });
    return parsed.success ? [parsed.data] : [];
  });
}

/** As many as the rounds of a gate. */
const rowsMax = 9;

export interface GateSettings {
  readonly path: string;
  readonly concurrency: number;
  readonly durationMs: number;
  readonly rounds: number;
  readonly thresholds: readonly Threshold[];
}

/** Evaluates the rows of one server. `hasEnded`: no further round follows. */
export function judgeGate(settings: GateSettings, stored: unknown, hasEnded: boolean): GateResult {
  const rows = storedGateSchema.parse(stored).map(toThresholdRow);
  const isComplete = rows.length >= settings.rounds;
  const thresholds = isComplete ? evaluateThresholds(settings.thresholds, rows) : [];
  const passed = thresholds.every((result) => result.passed);
  return {
    path: settings.path,
    concurrency: settings.concurrency,
    durationMs: settings.durationMs,
    rounds: settings.rounds,
    outcome: isComplete ? (passed ? 'passed' : 'failed') : hasEnded ? 'failed' : 'running',
    rows: rows.map(({ round, requests, errors, requestsPerSecond, p50Ms, p90Ms, p99Ms }) => ({
      round,
      requests,
      errors,
      ...{ requestsPerSecond, p50Ms, p90Ms, p99Ms },
    })),
    thresholds,
  };
}

function toThresholdRow(row: StoredGateRow): ThresholdRow {
  const latency = { counts: new Map(row.latency), sumUs: row.latencySumUs };
  return {
    ...{ target: 'direct', protocol: 'http1', networkPath: row.networkPath, concurrency: row.concurrency },
    ...{ phase: null, probe: null },
    ...{ round: row.round, requests: row.requests, errors: row.errors },
    requestsPerSecond: row.durationMs > 0 ? row.requests / (row.durationMs / 1000) : 0,
    p50Ms: quantileMs(latency, 0.5),
    p90Ms: quantileMs(latency, 0.9),
    p99Ms: quantileMs(latency, 0.99),
    cpuUsPerRequest: null,
    proxyMemoryBytes: null,
  };
}

/** Returns the median of each threshold as one line: `p99 12.3 ms (at most 20 ms)`, `missed` where it is. */
export function describeGate({ outcome, thresholds, rows, rounds }: GateResult): string {
  const verdict = { running: 'running', passed: 'passed', failed: 'failed' }[outcome];
  const figures = thresholds.map(({ threshold: { metric, max, min }, cells, passed }) => {
    const [name, unit] = metricWords[metric];
    const value = cells[0]?.value ?? null;
    const limit = max === undefined ? `at least ${min}` : `at most ${max}`;
    const measured = value === null ? 'unknown' : `${Math.round(value * 1000) / 1000} ${unit}`;
    return `${name} ${measured} (${limit} ${unit}${passed ? '' : ', missed'})`;
  });
  const measured = rows.length < rounds ? [`${rows.length} of ${rounds} rounds measured`] : [];
  return `Benchmark gate ${verdict}: ${[...measured, ...figures].join('; ')}.`;
}

const metricWords: Readonly<Record<ThresholdMetric, readonly [name: string, unit: string]>> = {
  requests_per_second: ['throughput', 'requests/s'],
  p50_ms: ['p50', 'ms'],
  p90_ms: ['p90', 'ms'],
  p99_ms: ['p99', 'ms'],
  success_percent: ['success', '%'],
  cpu_us_per_request: ['CPU', 'µs/request'],
  memory_bytes: ['memory', 'bytes'],
};
