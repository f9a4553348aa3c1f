// Requires that a plan may have a schedule: one runs without a person whose permissions could be asked for.
import type { BenchmarkPlan } from '../benchmark/index.ts';
import { LIVE_SCENARIOS } from '../benchmark/schema.ts';
import { AppError } from '../kernel/index.ts';

/** Throws benchmark_plan.not_schedulable. */
export function requireSchedulable(planId: string, { scenario }: BenchmarkPlan): void {
  if (LIVE_SCENARIOS.includes(scenario)) throw new AppError('benchmark_plan.not_schedulable', { planId, scenario });
}
