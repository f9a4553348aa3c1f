// Rules of a distributed run: what it can measure, and its time limit. Pure; the browser uses it too, so it
// imports no schema.
import { loadMs, type PlanFault, rowsOf, timeLimitMs } from './plan.ts';
import type { BenchmarkPlan } from './schema.ts';

/** Most servers that send requests in one run. */
export const LOAD_SERVERS_MAX = 16;
/** Time from the last ready server to the start of a row. All servers must receive the start within it. */
export const START_LEAD_MS = 3_000;

/** Returns why load servers can't measure a plan. The plan's limits hold for the sum of all servers. */
export function distributionFaults(plan: BenchmarkPlan, loadServers: number): PlanFault[] {
  if (loadServers === 0) return [];
  const faults: PlanFault[] = [];
  const fault = (field: PlanFault['field'], message: string) => faults.push({ field, message });
  if (plan.upstream !== 'live') {
    fault('targets', 'The lab runs on one server. Choose the upstream This app, or no load servers.');
  }
  if (plan.targets.some((target) => target !== 'proxy')) {
    fault(
      'targets',
      'Load servers reach the app through the proxy of its server only. Choose the target Fairlead alone, or no load servers.',
    );
  }
  if (plan.scenario !== 'matrix' && plan.scenario !== 'burst') {
    fault('scenario', 'Load servers run the scenarios Matrix and Burst only.');
  }
  if (Math.min(...plan.concurrency) < loadServers) {
    fault(
      'concurrency',
      `Each of the ${loadServers} load servers needs a client. Choose a concurrency of at least ${loadServers}.`,
    );
  }
  const rates = [plan.requestsPerSecond, ...plan.load.stages.map((stage) => stage.requestsPerSecond)];
  if (rates.some((rate) => rate !== null && rate < loadServers)) {
    fault('requestsPerSecond', `Choose at least ${loadServers} requests per second, one for each load server.`);
  }
  return faults;
}

/** Returns the shortest duration of a distributed run. */
export function distributedLoadMs(plan: BenchmarkPlan): number {
  return loadMs(plan) + START_LEAD_MS * rowsOf(plan);
}

/** Returns the time limit of a distributed run: each row also waits for the slowest of them. */
export function distributedTimeLimitMs(plan: BenchmarkPlan): number {
  return timeLimitMs(plan) + 20_000 * rowsOf(plan);
}
