// Current figures of an app from the live samples of its servers. Pure.
import { latencyOfPairs } from '@fairlead/contract/buckets';
import type { AppSample } from '@fairlead/contract/live';

export interface AppFigures {
  /** Time of the newest sample. */
  readonly at: number;
  readonly requestsPerSecond: number;
  readonly errorsPerSecond: number;
  readonly clientErrorsPerSecond: number;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  /** Quantiles of one histogram: all requests of the window on all servers. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  /** Time of the newest request. */
  readonly latencyAt: number;
}

/** Window of current figures, the same as that of the API's lists. */
export const WINDOW_MS = 10_000;

/**
 * Merges the samples of one app in one environment: rates and CPU are each server's mean over the window before they are
 * added up. Without a request in the window, the latency of `before` stays.
 */
export function mergeSamples(samples: readonly AppSample[], before?: AppFigures): AppFigures {
  const newest = Math.max(...samples.map(({ unixMs }) => unixMs));
  const fresh = samples.filter(({ unixMs }) => unixMs > newest - WINDOW_MS);
  const servers = [...Map.groupBy(fresh, ({ serverId }) => serverId).values()];
  const mean = (pick: (sample: AppSample) => number) =>
    servers.reduce((total, own) => total + own.reduce((sum, each) => sum + pick(each), 0) / own.length, 0);
  const answered = fresh.filter(({ latency }) => latency.length > 0);
  const { p50Ms, p95Ms, p99Ms } =
    answered.length === 0 && before !== undefined ? before : latencyOfPairs(answered.map(({ latency }) => latency));
  return {
    at: newest,
    requestsPerSecond: mean((sample) => sample.requestsPerSecond),
    errorsPerSecond: mean((sample) => sample.errorsPerSecond),
    clientErrorsPerSecond: mean((sample) => sample.clientErrorsPerSecond),
    cpuMillis: mean((sample) => sample.cpuMillis),
    memoryBytes: servers.reduce((total, own) => total + newestOf(own).memoryBytes, 0),
    p50Ms,
    p95Ms,
    p99Ms,
    latencyAt:
      answered.length === 0 ? (before?.latencyAt ?? newest) : Math.max(...answered.map(({ unixMs }) => unixMs)),
  };
}

function newestOf<Sample extends { readonly unixMs: number }>(samples: readonly Sample[]): Sample {
  return samples.reduce((newest, sample) => (sample.unixMs > newest.unixMs ? sample : newest));
}
