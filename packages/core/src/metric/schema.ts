// Schemas of charts: periods, points and deploy markers.

import { appIdSchema, deploymentIdSchema, environmentIdSchema, serverIdSchema } from '@fairlead/contract/ids';
import { metricPeriodMaxMs, metricRanges } from '@fairlead/contract/metrics';
import { z } from 'zod';

export const rangeSchema = z.enum(metricRanges);
export type Range = z.infer<typeof rangeSchema>;

/** A range that ends now, or the time from `from` until `to`. Default: the last hour. */
const periodShape = {
  range: rangeSchema.optional(),
  from: z.coerce.date().optional(),
  to: z.coerce.date().optional(),
  /** True: the period of the same length right before it, for a comparison. */
  previous: z.boolean().optional(),
};

interface PeriodTimes {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

function isPeriod({ from, to }: PeriodTimes): boolean {
  if (from === undefined || to === undefined) return from === to;
  return from < to && to.getTime() - from.getTime() <= metricPeriodMaxMs;
}

const periodProblem = { path: ['to'], message: 'Give both times, the later one second, at most 400 days apart.' };

/** Default environment: the primary one. */
export const appMetricInputSchema = z
  .object({ appId: appIdSchema, environmentId: environmentIdSchema.optional(), ...periodShape })
  .refine(isPeriod, periodProblem);
export type AppMetricInput = z.infer<typeof appMetricInputSchema>;

/** Latencies are null where no request was answered; CPU and memory where no sample arrived. */
export const appPointSchema = z.object({
  at: z.date(),
  requestsPerSecond: z.number(),
  /** Responses 5xx and exchanges that failed before a response. */
  errorsPerSecond: z.number(),
  /** Responses 4xx. */
  clientErrorsPerSecond: z.number(),
  p50Ms: z.number().nullable(),
  p95Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
  cpuMillis: z.number().nullable(),
  memoryBytes: z.number().nullable(),
  inFlight: z.number().nullable(),
});
export type AppPoint = z.infer<typeof appPointSchema>;

/** Deployments that changed nothing have no marker on a chart. */
export const markerStateSchema = z.enum(['live', 'failed']);

export const deployMarkerSchema = z.object({
  at: z.date(),
  deploymentId: deploymentIdSchema,
  number: z.number().int(),
  commitHash: z.string().nullable(),
  state: markerStateSchema,
});

/** Totals of the whole period: sums, with the quantiles from the merged histogram. */
export const appMetricTotalsSchema = z.object({
  requests: z.number(),
  errors: z.number(),
  clientErrors: z.number(),
  p50Ms: z.number().nullable(),
  p95Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
});

export const appMetricSchema = z.object({
  stepMs: z.number().int(),
  from: z.date(),
  to: z.date(),
  points: z.array(appPointSchema),
  totals: appMetricTotalsSchema,
  markers: z.array(deployMarkerSchema),
});
export type AppMetric = z.infer<typeof appMetricSchema>;

/** A route of an app over a period. Both names empty: all routes beyond the limit together. */
export const routeMetricSchema = z.object({
  host: z.string(),
  pathPrefix: z.string(),
  requests: z.number(),
  errors: z.number(),
  clientErrors: z.number(),
  p50Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
});
export type RouteMetric = z.infer<typeof routeMetricSchema>;

/** The busiest first; at most a hundred. */
export const routeMetricsSchema = z.object({
  from: z.date(),
  to: z.date(),
  routes: z.array(routeMetricSchema),
});
export type RouteMetrics = z.infer<typeof routeMetricsSchema>;

export const serverMetricInputSchema = z
  .object({ serverId: serverIdSchema, ...periodShape })
  .refine(isPeriod, periodProblem);
export type ServerMetricInput = z.infer<typeof serverMetricInputSchema>;

/** Every value is null in a step without a sample. */
export const serverPointSchema = z.object({
  at: z.date(),
  cpuMillis: z.number().nullable(),
  memoryUsedBytes: z.number().nullable(),
  memoryTotalBytes: z.number().nullable(),
  diskUsedBytes: z.number().nullable(),
  diskTotalBytes: z.number().nullable(),
  networkReceivedPerSecond: z.number().nullable(),
  networkSentPerSecond: z.number().nullable(),
  load1: z.number().nullable(),
  agentCpuMillis: z.number().nullable(),
  agentMemoryBytes: z.number().nullable(),
  openConnections: z.number().nullable(),
});
export type ServerPoint = z.infer<typeof serverPointSchema>;

export const serverMetricSchema = z.object({
  stepMs: z.number().int(),
  from: z.date(),
  to: z.date(),
  points: z.array(serverPointSchema),
});
export type ServerMetric = z.infer<typeof serverMetricSchema>;
