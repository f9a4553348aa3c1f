// Thresholds of a plan: decides from the rows of a run which of them pass. Pure; the browser uses it too, so it imports no
// schema. The agent has the same rule for the benchmark gate (gate.rs in the bench crate).
import type {
  BenchmarkOutcome,
  BenchmarkRowView,
  BenchmarkState,
  GateThreshold,
  GateThresholdResult,
  Threshold,
  ThresholdMetric,
  ThresholdResult,
} from './schema.ts';
import { estimate, median, pairedRatio } from './statistics.ts';

/** Values of a row that thresholds read. */
export type ThresholdRow = Pick<
  BenchmarkRowView,
  | 'target'
  | 'protocol'
  | 'networkPath'
  | 'concurrency'
  | 'phase'
  | 'probe'
  | 'round'
  | 'requests'
  | 'errors'
  | 'requestsPerSecond'
  | 'p50Ms'
  | 'p90Ms'
  | 'p99Ms'
  | 'cpuUsPerRequest'
  | 'proxyMemoryBytes'
>;

const readMetric: Record<ThresholdMetric, (row: ThresholdRow) => number | null> = {
  requests_per_second: (row) => row.requestsPerSecond,
  p50_ms: (row) => row.p50Ms,
  p90_ms: (row) => row.p90Ms,
  p99_ms: (row) => row.p99Ms,
  success_percent: ({ requests, errors }) => (requests + errors === 0 ? null : (100 * requests) / (requests + errors)),
  cpu_us_per_request: (row) => row.cpuUsPerRequest,
  memory_bytes: (row) => row.proxyMemoryBytes,
};

/**
 * Returns one result for each threshold, in order. The median over the rounds decides each cell, and every cell must pass.
 * A threshold without a cell fails: a limit on an unmeasured value must not look passed.
 */
export function evaluateThresholds(thresholds: readonly Threshold[], rows: readonly ThresholdRow[]): ThresholdResult[] {
  return thresholds.map((threshold) => {
    const matching = rows.filter((row) => fits(threshold, row));
    const cells = [...Map.groupBy(matching, cellOf).values()].flatMap((cell) => {
      const judged = evaluateCell(threshold, cell);
      return judged === null ? [] : [judged];
    });
    return {
      threshold,
      passed: cells.length > 0 && cells.every(({ passed }) => passed),
      certain: cells.every(({ value, interval }) => isCertain(threshold, value, interval)),
      cells,
    };
  });
}

/**
 * Returns one result for each threshold of a benchmark gate, in order. A threshold that is relative to the live release
 * limits the median of the ratios of each round, and passes if a round of the live release lacks the value.
 */
export function evaluateGate(
  thresholds: readonly GateThreshold[],
  rows: readonly ThresholdRow[],
  liveRows: readonly ThresholdRow[],
): GateThresholdResult[] {
  return thresholds.flatMap((threshold) =>
    threshold.relativeTo === undefined
      ? evaluateThresholds([threshold], rows)
      : [evaluateRatio(threshold, rows, liveRows)],
  );
}

function evaluateRatio(
  threshold: GateThreshold,
  rows: readonly ThresholdRow[],
  liveRows: readonly ThresholdRow[],
): GateThresholdResult {
  const valuesOf = (of: readonly ThresholdRow[]) =>
    of.toSorted((one, other) => one.round - other.round).map(readMetric[threshold.metric]);
  const live = valuesOf(liveRows).filter((value) => value !== null && value > 0);
  const [first] = rows;
  if (first === undefined || live.length !== rows.length || live.length !== liveRows.length) {
    return { threshold, passed: true, certain: false, cells: [] };
  }
  const values = valuesOf(rows).filter((value) => value !== null);
  const isWhole = values.length === rows.length;
  const baseline = live.map((value) => value ?? Number.NaN);
  const value = isWhole ? median(values.map((each, round) => each / (baseline[round] ?? Number.NaN))) : null;
  const spread = isWhole ? pairedRatio(values, baseline) : null;
  const interval = spread === null ? null : { low: spread.low, high: spread.high };
  const { target, protocol, networkPath, concurrency } = first;
  const passed = isMet(threshold, value);
  const cell = { target, protocol, networkPath, concurrency, value, interval, passed };
  return { threshold, passed, certain: isCertain(threshold, value, interval), cells: [cell] };
}

/** Returns the outcome of a run: only one that measured everything may pass. */
export function outcomeOf(state: BenchmarkState, results: readonly ThresholdResult[]): BenchmarkOutcome {
  if (state !== 'succeeded' || results.length === 0) return 'none';
  return results.every(({ passed }) => passed) ? 'passed' : 'failed';
}

function fits({ target, protocol, concurrency }: Threshold, row: ThresholdRow): boolean {
  return (
    (target ?? row.target) === row.target &&
    (protocol ?? row.protocol) === row.protocol &&
    (concurrency ?? row.concurrency) === row.concurrency
  );
}

function cellOf({ target, protocol, networkPath, concurrency, phase, probe }: ThresholdRow): string {
  return `${protocol} ${concurrency} ${target} ${networkPath} ${phase} ${probe}`;
}

/** Null: the rows of this cell do not have the metric, like direct rows the CPU time of the proxy. */
function evaluateCell(threshold: Threshold, cell: readonly ThresholdRow[]): ThresholdResult['cells'][number] | null {
  const [first] = cell;
  if (first === undefined) return null;
  const { target, protocol, networkPath, concurrency } = first;
  const rounds = cell.toSorted((one, other) => one.round - other.round);
  const values = rounds.map(readMetric[threshold.metric]).filter((value) => value !== null);
  const answered = rounds.some(({ requests }) => requests > 0);
  if (values.length === 0 && answered) return null;
  const value = values.length === rounds.length ? median(values) : null;
  const spread = value === null ? null : estimate(values);
  return {
    ...{ target, protocol, networkPath, concurrency },
    value,
    interval: spread === null ? null : { low: spread.low, high: spread.high },
    passed: isMet(threshold, value),
  };
}

function isMet({ max, min }: Threshold, value: number | null): boolean {
  return value !== null && value <= (max ?? Infinity) && value >= (min ?? -Infinity);
}

function isCertain(
  { max, min }: Threshold,
  value: number | null,
  interval: ThresholdResult['cells'][number]['interval'],
): boolean {
  if (value === null) return true;
  if (interval === null) return false;
  const limit = max ?? min ?? 0;
  // On the limit still passes, so an interval that only touches it from the passing side is certain.
  return max === undefined
    ? interval.low >= limit || interval.high < limit
    : interval.high <= limit || interval.low > limit;
}
