// Measured rounds of a deployment's benchmark gate: parses them from a server's report, and evaluates them for readers.
// Invariant: the agent decides about traffic; its result and this one come from the same rows by the same rule.
import { type BenchmarkRow, NetworkPath } from '@fairlead/contract/agent';
import { histogramFromWire, quantileMs } from '@fairlead/contract/histogram';
import { z } from 'zod';
import { withoutQuery } from './load.ts';
import {
  type GateResult,
  type GateThreshold,
  type NetworkPathName,
  networkPathSchema,
  type ThresholdMetric,
} from './schema.ts';
import { evaluateGate, type ThresholdRow } from './thresholds.ts';

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
  /** True: a round of the live release. */
  isLive: z.boolean().default(false),
});
const storedGateSchema = z.array(storedRowSchema);
type StoredGateRow = z.infer<typeof storedRowSchema>;

const networkPaths: Readonly<Partial<Record<NetworkPath, NetworkPathName>>> = {
  [NetworkPath.SHARED_NETWORK]: 'shared-network',
  [NetworkPath.OWN_NETWORK]: 'own-network',
  [NetworkPath.UNIX_SOCKET]: 'unix-socket',
  [NetworkPath.BENCH_NAMESPACE]: 'bench-namespace',
};

/** Leaves out impossible rows, because an agent's numbers are never trusted. At most `rowsMax` of each release. */
export function readGateRows(rows: readonly BenchmarkRow[], liveRows: readonly BenchmarkRow[]): StoredGateRow[] {
  return [...readRows(rows, false), ...readRows(liveRows, true)];
}

function readRows(rows: readonly BenchmarkRow[], isLive: boolean): StoredGateRow[] {
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
      isLive,
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
  readonly thresholds: readonly GateThreshold[];
}

/** Evaluates the rows of one server. `hasEnded`: no further round follows. */
export function judgeGate(settings: GateSettings, stored: unknown, hasEnded: boolean): GateResult {
  const all = storedGateSchema.parse(stored);
  const rows = all.filter(({ isLive }) => !isLive).map(toThresholdRow);
  const liveRows = all.filter(({ isLive }) => isLive).map(toThresholdRow);
  // The live release is measured last. Whether there is none to compare with is known at the end only.
  const isRelative = settings.thresholds.some(({ relativeTo }) => relativeTo !== undefined);
  const isCompared = !isRelative || liveRows.length >= settings.rounds || hasEnded;
  const isComplete = rows.length >= settings.rounds && isCompared;
  const thresholds = isComplete ? evaluateGate(settings.thresholds, rows, liveRows) : [];
  const passed = thresholds.every((result) => result.passed);
  return {
    path: withoutQuery(settings.path),
    concurrency: settings.concurrency,
    durationMs: settings.durationMs,
    rounds: settings.rounds,
    outcome: isComplete ? (passed ? 'passed' : 'failed') : hasEnded ? 'failed' : 'running',
    rows: rows.map(toGateRow),
    liveRows: liveRows.map(toGateRow),
    thresholds,
  };
}

function toGateRow({ round, requests, errors, requestsPerSecond, p50Ms, p90Ms, p99Ms }: ThresholdRow) {
  return { round, requests, errors, requestsPerSecond, p50Ms, p90Ms, p99Ms };
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
  const figures = thresholds.map(({ threshold: { metric, max, min, relativeTo }, cells, passed }) => {
    const [name, ownUnit] = metricWords[metric];
    const unit = relativeTo === undefined ? ownUnit : '× the live release';
    const limit = max === undefined ? `at least ${min}` : `at most ${max}`;
    const [cell] = cells;
    if (cell === undefined && relativeTo !== undefined)
      return `${name} not compared: no live release (${limit} ${unit})`;
    const value = cell?.value ?? null;
    const measured =
      value === null ? 'unknown' : `${thousandth(value)} ${unit}${intervalOf(cell?.interval, relativeTo)}`;
    return `${name} ${measured} (${limit} ${unit}${passed ? '' : ', missed'})`;
  });
  const measured = rows.length < rounds ? [`${rows.length} of ${rounds} rounds measured`] : [];
  return `Benchmark gate ${verdict}: ${[...measured, ...figures].join('; ')}.`;
}

function intervalOf(
  interval: { low: number; high: number } | null | undefined,
  relativeTo: 'live' | undefined,
): string {
  if (!interval || relativeTo === undefined) return '';
  return ` [${thousandth(interval.low)} to ${thousandth(interval.high)}]`;
}

const thousandth = (value: number) => Math.round(value * 1000) / 1000;

const metricWords: Readonly<Record<ThresholdMetric, readonly [name: string, unit: string]>> = {
  requests_per_second: ['throughput', 'requests/s'],
  p50_ms: ['p50', 'ms'],
  p90_ms: ['p90', 'ms'],
  p99_ms: ['p99', 'ms'],
  success_percent: ['success', '%'],
  cpu_us_per_request: ['CPU', 'µs/request'],
  memory_bytes: ['memory', 'bytes'],
};
