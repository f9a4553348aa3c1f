// Rules of a run of several servers: what it can measure, and the share of each load server. Pure; the browser uses it too, so it
// imports no schema.
import type { PlanFault } from './plan.ts';
import type { BenchmarkPlan } from './schema.ts';

/** Most servers that send requests in one run. */
export const LOAD_SERVERS_MAX = 16;

/** Returns why load servers can't measure a plan. The plan's limits hold for the sum of all servers. */
export function distributionFaults(plan: BenchmarkPlan, loadServers: number): PlanFault[] {
  if (loadServers === 0) return [];
  const faults: PlanFault[] = [];
  const fault = (field: PlanFault['field'], message: string) => faults.push({ field, message });
  if (plan.upstream !== 'live') {
    fault('targets', 'The lab runs on one server. Choose the upstream App, or no load servers.');
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

/** Returns the clients of the load server at a position, of `loadServers`. The first ones have one more if it doesn't divide. */
export function clientsOf(concurrency: number, position: number, loadServers: number): number {
  return Math.floor(concurrency / loadServers) + (position < concurrency % loadServers ? 1 : 0);
}

/** Returns the plan with the clients and rates of one load server. */
export function shareOf<Plan extends BenchmarkPlan>(plan: Plan, position: number, loadServers: number): Plan {
  const rateOf = (rate: number) => rate / loadServers;
  return {
    ...plan,
    concurrency: plan.concurrency.map((clients) => clientsOf(clients, position, loadServers)),
    requestsPerSecond: plan.requestsPerSecond === null ? null : rateOf(plan.requestsPerSecond),
    load: {
      ...plan.load,
      stages: plan.load.stages.map((stage) => ({ ...stage, requestsPerSecond: rateOf(stage.requestsPerSecond) })),
    },
  };
}
