// Sums an app's latest one-second samples over all its servers. Pure.
import type { AppSample } from '@fairlead/contract/live';

export type AppFigures = Pick<AppSample, 'requestsPerSecond' | 'errorsPerSecond' | 'cpuMillis' | 'memoryBytes'> & {
  /** Null with several servers: their quantiles cannot be combined. */
  readonly latency: Pick<AppSample, 'p50Ms' | 'p95Ms' | 'p99Ms'> | null;
};

/** Servers send a sample each second; one that is this much older than another's is stale. */
const SILENT_MS = 10_000;

/** Sums the samples of one app in one environment, one sample for each server. */
export function sumSamples(samples: readonly AppSample[]): AppFigures {
  const newest = Math.max(...samples.map(({ unixMs }) => unixMs));
  const fresh = samples.filter(({ unixMs }) => unixMs > newest - SILENT_MS);
  const sum = (pick: (sample: AppSample) => number) => fresh.reduce((total, sample) => total + pick(sample), 0);
  const [first, ...others] = fresh;
  return {
    requestsPerSecond: sum((sample) => sample.requestsPerSecond),
    errorsPerSecond: sum((sample) => sample.errorsPerSecond),
    cpuMillis: sum((sample) => sample.cpuMillis),
    memoryBytes: sum((sample) => sample.memoryBytes),
    latency: first === undefined || others.length > 0 ? null : first,
  };
}
