// Defaults of settings, as placeholders of their fields. The schema that owns them is too large for a browser.
import type { Settings } from '../../api/types.ts';

type Numbers<Whole> = { readonly [Name in keyof Whole as Whole[Name] extends number ? Name : never]?: Whole[Name] };

export const defaults = {
  buildTimeoutMs: 900_000,
  startTimeoutMs: 60_000,
  drainTimeoutMs: 30_000,
  stopTimeoutMs: 10_000,
  releasesKept: 5,
} as const satisfies Numbers<Settings>;

export const trafficDefaults = {
  responseTimeoutMs: 120_000,
  queueLengthMax: 8192,
  queueTimeoutMs: 60_000,
  retryBudgetPercent: 20,
} as const satisfies Numbers<Settings['traffic']>;

export const ejectionDefaults = {
  consecutiveFailures: 5,
  ejectionTimeMs: 5000,
  ejectedPercentMax: 50,
} as const satisfies Settings['traffic']['outlierEjection'];

export const healthCheckDefaults = {
  path: '/',
  intervalMs: 5000,
  timeoutMs: 2000,
  healthyThreshold: 1,
  unhealthyThreshold: 3,
} as const satisfies NonNullable<Settings['traffic']['healthCheck']>;

export const autoscalingDefaults = {
  idleTimeoutMs: 300_000,
  wakeTimeoutMs: 30_000,
} as const satisfies Numbers<NonNullable<Settings['autoscaling']>>;

export const hookTimeoutMs = 600_000;
