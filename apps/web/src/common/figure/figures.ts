// Definitions of the figures that pages show: unit, window and source of each, the same on every page. Pure.
import type { AppSample } from '@fairlead/contract/live';
import type { AppDetail, AppMetric, AppSummary, Overview } from '../../api/types.ts';
import type { AppFigures } from '../app/app-figures.ts';

/** Age from which a figure is stale: it is grey and shows its age. Agents report each second. */
const STALE_AFTER_MS = 30_000;

/** A value, and since when it is no longer current: `staleSince` is null for a current one. */
export interface Figure {
  /** Null: not measured, or it doesn't exist, as the memory of a stopped app. */
  readonly value: number | null;
  readonly staleSince: Date | null;
}

const NONE: Figure = { value: null, staleSince: null };

/** Current figures of an app in an environment, over all its servers. */
export interface CurrentFigures {
  /**
   * Requests per second. Window: the last 10 seconds. Source: the live stream; before its first sample the API's `app`,
   * which has the same window.
   */
  readonly requestsPerSecond: Figure;
  /** Responses 5xx and exchanges that failed before a response, per second. Window and source: as the requests. */
  readonly errorsPerSecond: Figure;
  /**
   * Latency in milliseconds. The three come from one merged histogram. Window: the last 10 seconds with a request.
   * Source: the live stream, else the newest step of the chart with a request.
   */
  readonly p50Ms: Figure;
  readonly p95Ms: Figure;
  readonly p99Ms: Figure;
  /**
   * CPU in thousandths of a core. Window: the last 10 seconds. Source: the live stream, else the newest step of the
   * chart. Shown as a share of all cores of its servers. None without a running instance.
   */
  readonly cpuMillis: Figure;
  /** Memory in bytes. Window: the newest second of each server. Source: as CPU. None without a running instance. */
  readonly memoryBytes: Figure;
}

export interface CurrentFiguresInput {
  readonly app: Pick<AppDetail, 'requestsPerSecond' | 'errorsPerSecond' | 'serverConnected' | 'instances'>;
  /** Figures of the live stream; undefined before the first sample. */
  readonly live: AppFigures | undefined;
  readonly points: AppMetric['points'];
  readonly stepMs: number;
  /** False while the browser has no stream: nothing can be called current then. */
  readonly isStreaming: boolean;
  /** Time when the page was opened. */
  readonly openedAt: number;
  readonly now: number;
}

export function currentFigures(input: CurrentFiguresInput): CurrentFigures {
  const { app, live, points, stepMs, openedAt, now } = input;
  const isCurrent = (at: number) => now - at <= STALE_AFTER_MS;
  const figure = (value: number | null, at: number): Figure => ({
    value,
    staleSince: value === null || isCurrent(at) ? null : new Date(at),
  });
  const newest = (key: 'p50Ms' | 'memoryBytes') => {
    const point = points.findLast((each) => each[key] !== null);
    return point === undefined ? undefined : { ...point, at: Math.min(now, point.at.getTime() + stepMs) };
  };
  const measured = newest('memoryBytes');

  // An agent reports an app in each second in which it has a request or an instance: while it is connected, silence
  // means zero requests.
  const isQuiet = app.serverConnected && input.isStreaming;
  const rate = (key: 'requestsPerSecond' | 'errorsPerSecond'): Figure => {
    if (live !== undefined && (isCurrent(live.at) || !isQuiet)) return figure(live[key], live.at);
    if (live !== undefined || (isQuiet && !isCurrent(openedAt))) return figure(0, now);
    if (app.serverConnected) return figure(app[key], now);
    return measured === undefined ? NONE : figure(measured[key], measured.at);
  };

  const answered = newest('p50Ms');
  const latency = live !== undefined && live.p50Ms !== null ? { ...live, at: live.latencyAt } : answered;
  const quantile = (key: 'p50Ms' | 'p95Ms' | 'p99Ms') =>
    latency === undefined ? NONE : figure(latency[key], latency.at);

  const isRunning = app.instances.some(({ state }) => RUNNING.has(state));
  const usage = live ?? measured;
  const used = (key: 'cpuMillis' | 'memoryBytes') =>
    usage === undefined || !isRunning ? NONE : figure(usage[key], usage.at);
  return {
    requestsPerSecond: rate('requestsPerSecond'),
    errorsPerSecond: rate('errorsPerSecond'),
    p50Ms: quantile('p50Ms'),
    p95Ms: quantile('p95Ms'),
    p99Ms: quantile('p99Ms'),
    cpuMillis: used('cpuMillis'),
    memoryBytes: used('memoryBytes'),
  };
}

/** Time without a request after which a list shows no latency, as in the API. */
const QUIET_AFTER_MS = 5 * 60_000;

/**
 * Latency (p99) that lists show of an app. Window and source: as on its page; without a request in the last five minutes
 * none.
 */
export function listedP99(app: Pick<AppSummary, 'p99Ms'>, live: AppFigures | undefined): number | null {
  if (live === undefined || live.p99Ms === null) return app.p99Ms;
  return live.at - live.latencyAt > QUIET_AFTER_MS ? null : live.p99Ms;
}

/** Figures of an app on the overview. Window of all: the last 30 minutes. Source: the API, which the page asks again. */
export interface RecentFigures {
  /** Requests per second of the busiest minute. */
  readonly peakPerSecond: number;
  /** Errors, as in the current figures, per request; null without a request. */
  readonly errorShare: number | null;
  /** True if so many requests fail that the share is red. */
  readonly isFailing: boolean;
  /** From one merged histogram; null without a request. */
  readonly p95Ms: number | null;
}

const FAILING_SHARE = 0.01;

export function recentFigures(
  app: Pick<Overview['apps'][number], 'sparkline' | 'errorShare' | 'p95Ms'>,
): RecentFigures {
  const { sparkline, errorShare, p95Ms } = app;
  return {
    peakPerSecond: Math.max(0, ...sparkline),
    errorShare,
    isFailing: errorShare !== null && errorShare >= FAILING_SHARE,
    p95Ms,
  };
}

/** Totals of a period, streamed: what the API counted, and the samples after the end of its last step. */
export function streamedTotals(
  { totals, to }: Pick<AppMetric, 'totals' | 'to'>,
  samples: readonly AppSample[],
): Pick<AppMetric['totals'], 'requests' | 'errors' | 'clientErrors' | 'p99Ms'> {
  const later = samples.filter(({ unixMs }) => unixMs >= to.getTime());
  // A sample is of one second, so its rate is its count.
  const count = (pick: (sample: AppSample) => number) =>
    Math.round(later.reduce((total, sample) => total + pick(sample), 0));
  return {
    requests: totals.requests + count((sample) => sample.requestsPerSecond),
    errors: totals.errors + count((sample) => sample.errorsPerSecond),
    clientErrors: totals.clientErrors + count((sample) => sample.clientErrorsPerSecond),
    p99Ms: totals.p99Ms,
  };
}

/** States of an instance that has a process: the others use no CPU and no memory. */
export const RUNNING: ReadonlySet<AppDetail['instances'][number]['state']> = new Set([
  'starting',
  'healthy',
  'unhealthy',
  'draining',
]);

/** Cores of all servers of an app in an environment; 0 while one is unknown. */
export function coresOf(servers: readonly { readonly cpuCount: number }[]): number {
  return servers.some(({ cpuCount }) => cpuCount === 0)
    ? 0
    : servers.reduce((total, { cpuCount }) => total + cpuCount, 0);
}

export interface Disk {
  readonly usedBytes: number;
  /** Space that apps and builds can still use. */
  readonly freeBytes: number;
  /** Used and free. Blocks that the file system reserves for root count as neither, as in `df`. */
  readonly totalBytes: number;
  /** Used share, from 0 to 1. */
  readonly share: number;
}

/** Disk of a server. Window: the newest second. Source of gauge, chart and card alike: the server's sample. The agent decides when space runs out. */
export function diskOf(usedBytes: number | null, totalBytes: number | null): Disk | null {
  if (usedBytes === null || totalBytes === null || totalBytes <= 0) return null;
  const used = Math.min(usedBytes, totalBytes);
  return { usedBytes: used, freeBytes: totalBytes - used, totalBytes, share: used / totalBytes };
}
