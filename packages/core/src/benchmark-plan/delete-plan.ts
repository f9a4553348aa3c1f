// Deletes a saved plan. Its runs stay.
import { recordAudit } from '../audit/index.ts';
import type { Ctx } from '../kernel/index.ts';
import type { SavedPlanRef } from './schema.ts';
import { lockPlan, requireOwnPlan } from './store.ts';

/** Throws benchmark_plan.not_found and benchmark_plan.from_repository. */
export async function deletePlan(ctx: Ctx, { planId }: SavedPlanRef): Promise<SavedPlanRef> {
  const { tx, organizationId } = ctx;
  const plan = await lockPlan(ctx, planId);
  requireOwnPlan(plan);
  const { name, appName } = plan;
  await tx.benchmarkPlan.deleteMany({ where: { id: planId, organizationId } });
  await recordAudit(ctx, {
    action: 'benchmark.delete_plan',
    target: { kind: 'benchmark_plan', id: planId, label: name },
    before: { name, appName },
  });
  return { planId };
}
