// Names, steps and ages of stored metrics. Must never hold values or queries: tables are in packages/db, reading in core.

/** Resolutions, finest first. Each is rolled up from the one before it. */
export const metricResolutions = ['1s', '1m', '1h'] as const;
export type MetricResolution = (typeof metricResolutions)[number];

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Older partitions are dropped whole. */
export const metricRetentionMs: Readonly<Record<MetricResolution, number>> = {
  '1s': dayMs,
  '1m': 14 * dayMs,
  '1h': 400 * dayMs,
};

/** Ranges of a chart, with the resolution and the steps of each. */
export const metricRanges = ['15m', '1h', '6h', '24h', '7d', '30d'] as const;
export type MetricRange = (typeof metricRanges)[number];

export interface MetricRangePlan {
  readonly lengthMs: number;
  readonly stepMs: number;
  readonly resolution: MetricResolution;
}

export const metricRangePlans: Readonly<Record<MetricRange, MetricRangePlan>> = {
  '15m': { lengthMs: 15 * minuteMs, stepMs: 5 * secondMs, resolution: '1s' },
  '1h': { lengthMs: hourMs, stepMs: 15 * secondMs, resolution: '1s' },
  '6h': { lengthMs: 6 * hourMs, stepMs: 2 * minuteMs, resolution: '1m' },
  '24h': { lengthMs: dayMs, stepMs: 5 * minuteMs, resolution: '1m' },
  '7d': { lengthMs: 7 * dayMs, stepMs: hourMs, resolution: '1h' },
  '30d': { lengthMs: 30 * dayMs, stepMs: 4 * hourMs, resolution: '1h' },
};

/** Longest period of a chart between two given times: the age of the oldest samples. */
export const metricPeriodMaxMs = metricRetentionMs['1h'];

/** Steps of a period between two given times, up to `lengthMs`: the first whose samples are still kept applies. */
export const metricPeriodPlans: readonly MetricRangePlan[] = [
  { lengthMs: 20 * minuteMs, stepMs: 5 * secondMs, resolution: '1s' },
  { lengthMs: 2 * hourMs, stepMs: 30 * secondMs, resolution: '1s' },
  { lengthMs: 2 * hourMs, stepMs: minuteMs, resolution: '1m' },
  { lengthMs: 8 * hourMs, stepMs: 2 * minuteMs, resolution: '1m' },
  { lengthMs: 36 * hourMs, stepMs: 10 * minuteMs, resolution: '1m' },
  { lengthMs: 10 * dayMs, stepMs: hourMs, resolution: '1h' },
  { lengthMs: 40 * dayMs, stepMs: 4 * hourMs, resolution: '1h' },
  { lengthMs: metricPeriodMaxMs, stepMs: dayMs, resolution: '1h' },
];
