// Renames a saved plan or replaces its content, unless another member changed it first.
import { changedFields, recordAudit } from '../audit/index.ts';
import { redactPlan } from '../benchmark/index.ts';
import { benchmarkPlanSchema } from '../benchmark/schema.ts';
import { AppError, type Ctx, isUniqueViolation } from '../kernel/index.ts';
import { requireSchedulable } from './schedulable.ts';
import type { SavedPlanRef, UpdatePlanInput } from './schema.ts';
import { lockPlan, requireOwnPlan } from './store.ts';

/**
 * Throws benchmark_plan.not_found, benchmark_plan.from_repository, benchmark_plan.outdated and benchmark_plan.name_taken.
 * Runs keep the plan they began with.
 */
export async function updatePlan(ctx: Ctx, { planId, version, name, plan }: UpdatePlanInput): Promise<SavedPlanRef> {
  const { tx, organizationId } = ctx;
  const before = await lockPlan(ctx, planId);
  requireOwnPlan(before);
  if (before.version !== version) throw new AppError('benchmark_plan.outdated', { planId });
  if (plan !== undefined && (await tx.benchmarkSchedule.count({ where: { planId, organizationId } })) > 0) {
    requireSchedulable(planId, plan);
  }
  try {
    await tx.benchmarkPlan.updateMany({
      where: { id: planId, organizationId },
      data: {
        ...(name === undefined ? {} : { name }),
        ...(plan === undefined ? {} : { plan }),
        version: version + 1,
        updatedAt: ctx.clock.now(),
      },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('benchmark_plan.name_taken', { name }, { cause: error });
    throw error;
  }
  const changes = changedFields(
    { name: before.name, plan: auditedPlan(before.plan) },
    { name, plan: plan === undefined ? undefined : auditedPlan(plan) },
  );
  await recordAudit(ctx, {
    action: 'benchmark.update_plan',
    target: { kind: 'benchmark_plan', id: planId, label: name ?? before.name },
    before: changes.before,
    after: { appName: before.appName, ...changes.after },
  });
  return { planId };
}

/** Text of a plan without queries, values of headers and bodies. */
export function auditedPlan(stored: unknown): string {
  return JSON.stringify(redactPlan(benchmarkPlanSchema.parse(stored)));
}
