// Thresholds as a form edits them, as text until they are parsed, and how their metrics look. Pure.
import type { GateThreshold, Threshold, ThresholdMetric } from '@fairlead/core/benchmark/schema';
import type { Formats } from '@fairlead/ui/formats';

export interface ThresholdDraft {
  readonly metric: ThresholdMetric;
  readonly bound: 'max' | 'min';
  /** Number as typed, in the unit of the metric's label. */
  readonly limit: string;
  readonly target: Threshold['target'];
  readonly protocol: Threshold['protocol'];
  readonly concurrency: Threshold['concurrency'];
  /** `live`: the limit is a ratio to the live release. */
  readonly relativeTo: GateThreshold['relativeTo'];
}

export interface MetricLook {
  readonly label: string;
  /** Bound that people want for this metric. */
  readonly bound: ThresholdDraft['bound'];
  readonly format: (value: number, formats: Formats) => string;
}

const ms: MetricLook['format'] = (value, { formatMs }) => formatMs(value);

/** Metrics in the order in which a form offers them. */
export const metricLook: Record<ThresholdMetric, MetricLook> = {
  p99_ms: { label: 'p99 (ms)', bound: 'max', format: ms },
  p90_ms: { label: 'p90 (ms)', bound: 'max', format: ms },
  p50_ms: { label: 'p50 (ms)', bound: 'max', format: ms },
  requests_per_second: {
    label: 'Requests/s',
    bound: 'min',
    format: (value, { formatInteger }) => formatInteger(value),
  },
  success_percent: {
    label: 'Success (%)',
    bound: 'min',
    format: (value, { formatPercent }) => formatPercent(value / 100),
  },
  cpu_us_per_request: {
    label: 'CPU (µs/request)',
    bound: 'max',
    format: (value, { formatFixed }) => `${formatFixed(value, 1)} µs`,
  },
  memory_bytes: { label: 'Memory (MiB)', bound: 'max', format: (value, { formatBytes }) => formatBytes(value) },
};

/** Metrics of a benchmark gate. */
export const GATE_METRICS: readonly ThresholdMetric[] = [
  'p99_ms',
  'p90_ms',
  'p50_ms',
  'requests_per_second',
  'success_percent',
];
export const ALL_METRICS = Object.keys(metricLook) as ThresholdMetric[];
export const THRESHOLDS_MAX = 20;

export const boundLabel: Record<ThresholdDraft['bound'], string> = { max: 'At most', min: 'At least' };

const BYTES_PER_MIB = 1024 * 1024;

const ANY_ROW = { target: undefined, protocol: undefined, concurrency: undefined, relativeTo: undefined };

export function emptyDraft(metric: ThresholdMetric = 'p99_ms'): ThresholdDraft {
  const { bound } = metricLook[metric];
  return { metric, bound, limit: '', ...ANY_ROW };
}

export function toDraft({
  metric,
  max,
  min,
  target,
  protocol,
  concurrency,
  relativeTo,
}: GateThreshold): ThresholdDraft {
  const limit = max ?? min ?? 0;
  return {
    metric,
    bound: max === undefined ? 'min' : 'max',
    limit: String(metric === 'memory_bytes' ? limit / BYTES_PER_MIB : limit),
    ...{ target, protocol, concurrency, relativeTo },
  };
}

/** Returns the error of a draft; null if it has none. */
export function draftError({ metric, bound, limit, relativeTo }: ThresholdDraft): string | null {
  const value = Number(limit);
  if (limit.trim() === '' || !Number.isFinite(value) || value < 0) return 'Enter a number such as 20 or 99.9.';
  if (relativeTo !== undefined) return value === 0 ? 'Enter a ratio such as 1.2.' : null;
  if (metric === 'success_percent') return value > 100 ? 'A success rate is at most 100 %.' : null;
  return bound === 'max' && value === 0 ? 'A maximum of 0 can never pass.' : null;
}

/** Returns the threshold of a draft without an error. */
export function parseDraft(draft: ThresholdDraft): GateThreshold {
  const { metric, bound, target, protocol, concurrency, relativeTo } = draft;
  const limit = metric === 'memory_bytes' ? Math.round(Number(draft.limit) * BYTES_PER_MIB) : Number(draft.limit);
  return {
    metric,
    [bound]: limit,
    ...(target === undefined ? {} : { target }),
    ...(protocol === undefined ? {} : { protocol }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(relativeTo === undefined ? {} : { relativeTo }),
  };
}

/** Describes a threshold: `p99 at most 20 ms`, or `p99 at most 1.2 × live`. */
export function describeThreshold({ metric, max, min, relativeTo }: GateThreshold, formats: Formats): string {
  const { label, format } = metricLook[metric];
  const name = label.replace(/ \(.*\)$/, '');
  const limit = max ?? min ?? 0;
  const words = relativeTo === undefined ? format(limit, formats) : `${limit} × live`;
  return `${name} ${max === undefined ? 'at least' : 'at most'} ${words}`;
}
