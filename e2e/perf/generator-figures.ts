// Judges the load generator by the figures of check-generator.ts, and parses what other generators print. Pure.
import { type Estimate, median, pairedRatio } from '@fairlead/core/benchmark/statistics';

const RATE_RATIO_MIN = 0.95;
const CPU_RATIO_MAX = 1;
const DELAY_ERROR_PERCENT_MAX = 2;

/** Result of one generator in one round. */
export interface Load {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly cpuUsPerRequest: number;
}

export interface Comparison {
  /** Peer with the most requests per second. */
  readonly best: string;
  readonly rate: Estimate;
  readonly cpu: Estimate;
}

export interface Outcome {
  readonly comparisons: readonly Comparison[];
  readonly delayErrorPercent: number;
  readonly errorsCounted: number;
  readonly errorsInjected: number;
}

/** Compares our rounds with those of the peer that has the highest median rate. */
export function compare(ours: readonly Load[], peers: ReadonlyMap<string, readonly Load[]>): Comparison {
  const rates = (loads: readonly Load[]) => loads.map((load) => load.requestsPerSecond);
  const cpus = (loads: readonly Load[]) => loads.map((load) => load.cpuUsPerRequest);
  const [best] = [...peers].toSorted(([, a], [, b]) => (median(rates(b)) ?? 0) - (median(rates(a)) ?? 0));
  if (best === undefined) throw new Error('no other generator could be measured');
  const [name, theirs] = best;
  const [rate, cpu] = [pairedRatio(rates(ours), rates(theirs)), pairedRatio(cpus(ours), cpus(theirs))];
  if (rate === null || cpu === null) throw new Error('a comparison needs at least three rounds');
  return { best: name, rate, cpu };
}

/** Last line of the check. Each ratio is the worst of all targets. */
export function lastLine({ comparisons, delayErrorPercent, errorsCounted, errorsInjected }: Outcome): string {
  const rate = Math.min(...comparisons.map((each) => each.rate.median)).toFixed(2);
  const cpu = Math.max(...comparisons.map((each) => each.cpu.median)).toFixed(2);
  return `requests/s vs best of wrk, h2load, oha: ${rate}; CPU per request vs it: ${cpu}; delay error: ${delayErrorPercent.toFixed(2)} %; errors counted ${errorsCounted} of ${errorsInjected}`;
}

/** Returns the reasons why the check fails. A ratio fails only when its whole interval is beyond the bound. */
export function faults({ comparisons, delayErrorPercent, errorsCounted, errorsInjected }: Outcome): string[] {
  const found: string[] = [];
  if (comparisons.some(({ rate }) => rate.high < RATE_RATIO_MIN)) found.push('fewer requests/s than the best');
  if (comparisons.some(({ cpu }) => cpu.low > CPU_RATIO_MAX)) found.push('more CPU per request than the best');
  if (!(delayErrorPercent <= DELAY_ERROR_PERCENT_MAX)) found.push('injected delays are not recovered');
  if (errorsCounted !== errorsInjected || errorsInjected === 0) found.push('injected errors are not counted exactly');
  return found;
}

export interface Counted {
  readonly requests: number;
  readonly requestsPerSecond: number;
}

export function parseWrk(output: string): Counted {
  return {
    requests: figure(output, /^\s*(\d+) requests in/m),
    requestsPerSecond: figure(output, /^Requests\/sec:\s+([\d.]+)/m),
  };
}

export function parseH2load(output: string): Counted {
  return {
    requests: figure(output, /^requests:.* (\d+) succeeded/m),
    requestsPerSecond: figure(output, /^finished in .*, ([\d.]+) req\/s/m),
  };
}

/** Parses the JSON of oha. */
export function parseOha(output: string): Counted {
  const { summary, statusCodeDistribution } = JSON.parse(output);
  return { requests: statusCodeDistribution['200'], requestsPerSecond: summary.requestsPerSec };
}

/** Parses `%U %S` of GNU time: seconds in user mode and in the kernel. */
export function parseCpuSeconds(text: string): number {
  return figure(text, /([\d.]+) [\d.]+\s*$/) + figure(text, /[\d.]+ ([\d.]+)\s*$/);
}

function figure(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`no figure in: ${text.trim().split('\n').at(-1) ?? ''}`);
  return Number(found);
}
