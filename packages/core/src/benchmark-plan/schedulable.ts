// Requires that a plan may have a schedule: one runs without a person whose permissions could be asked for.
import { type BenchmarkPlan, copiesRelease, mayChangeData } from '../benchmark/index.ts';
import { LIVE_SCENARIOS } from '../benchmark/schema.ts';
import { AppError } from '../kernel/index.ts';

/** Throws benchmark_plan.not_schedulable. */
export function requireSchedulable(planId: string, plan: BenchmarkPlan): void {
  const { scenario } = plan;
  if (LIVE_SCENARIOS.includes(scenario) || copiesRelease(plan) || mayChangeData(plan))
    throw new AppError('benchmark_plan.not_schedulable', { planId, scenario });
}
