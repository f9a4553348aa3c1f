// The newest second of an app over all servers on which it runs, from the second of each. Pure.
import type { AppSample } from '@fairlead/contract/live';

export type AppFigures = Pick<AppSample, 'requestsPerSecond' | 'errorsPerSecond' | 'cpuMillis' | 'memoryBytes'> & {
  /** Null with several servers: theirs cannot be made of each one's own. */
  readonly latency: Pick<AppSample, 'p50Ms' | 'p95Ms' | 'p99Ms'> | null;
};

/** Servers send each second; one silent this long beside another serves the app no more, or is gone. */
const SILENT_MS = 10_000;

/** Of one app in one environment, each server once. */
export function addUp(samples: readonly AppSample[]): AppFigures {
  const newest = Math.max(...samples.map(({ unixMs }) => unixMs));
  const heard = samples.filter(({ unixMs }) => unixMs > newest - SILENT_MS);
  const sum = (pick: (sample: AppSample) => number) => heard.reduce((total, sample) => total + pick(sample), 0);
  const [first, ...others] = heard;
  return {
    requestsPerSecond: sum((sample) => sample.requestsPerSecond),
    errorsPerSecond: sum((sample) => sample.errorsPerSecond),
    cpuMillis: sum((sample) => sample.cpuMillis),
    memoryBytes: sum((sample) => sample.memoryBytes),
    latency: first === undefined || others.length > 0 ? null : first,
  };
}
