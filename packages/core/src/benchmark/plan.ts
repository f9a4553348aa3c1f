// Arithmetic of a plan: its rows and its time limit. Pure; the browser uses it too, so it imports no schema.
import type { BenchmarkPlan } from './schema.ts';

/**
 * Apps speak HTTP/1.1, so HTTP/2 and HTTP/3 are measured at the proxy only. The agent's bench crate counts the same
 * way.
 */
export function rowsOf(plan: BenchmarkPlan): number {
  const pairs = plan.targets.flatMap((target) =>
    plan.protocols.filter((protocol) => target === 'proxy' || protocol === 'http1'),
  );
  return pairs.length * plan.concurrency.length * plan.repeats;
}

/**
 * Every row as long as planned, and as much again for starting, ramping and reporting. The rest is for benchmark gates of
 * deployments, which go between two rows.
 */
export function timeLimitMs(plan: BenchmarkPlan): number {
  return 5 * 60_000 + 2 * rowsOf(plan) * (plan.durationMs + plan.warmupMs);
}
