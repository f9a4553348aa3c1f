// Share of one load server in a benchmark plan. Pure.
import type { BenchmarkPlan } from '../benchmark/schema.ts';

/** Returns the number of clients of the load server at a position. The first ones have one more if the division has a rest. */
function clientsOf(concurrency: number, position: number, loadServers: number): number {
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
