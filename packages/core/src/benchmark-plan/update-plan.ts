// Renames a saved plan, replaces its content or its load servers, unless another member changed it first.
import type { ServerId } from '@fairlead/contract/ids';
import { changedFields, recordAudit } from '../audit/index.ts';
import { type BenchmarkPlan, benchmarkPlanSchema, requireDistributable } from '../benchmark/index.ts';
import { AppError, type Ctx, isUniqueViolation } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { changedPlanFields } from './changed-plan-fields.ts';
import { requireLoadServers } from './load-servers.ts';
import { requireSchedulable } from './schedulable.ts';
import type { SavedPlanRef, UpdatePlanInput } from './schema.ts';
import { type LockedPlan, loadServerNames, lockPlan, requireOwnPlan, requireVersion } from './store.ts';

/**
 * Throws benchmark_plan.not_found, benchmark_plan.from_repository, benchmark_plan.outdated, benchmark_plan.name_taken and the
 * errors of `requireLoadServers`. Runs keep the plan they began with.
 */
export async function updatePlan(ctx: Ctx, input: UpdatePlanInput): Promise<SavedPlanRef> {
  const { tx, organizationId } = ctx;
  const { planId, version, name, plan, loadServerIds } = input;
  const before = await lockPlan(ctx, planId);
  if (name !== undefined || plan !== undefined) requireOwnPlan(before);
  requireVersion(before, version);
  if (plan !== undefined && (await tx.benchmarkSchedule.count({ where: { planId, organizationId } })) > 0) {
    requireSchedulable(planId, plan);
  }
  const servers = await changedLoadServers(ctx, before, input);
  try {
    await tx.benchmarkPlan.updateMany({
      where: { id: planId, organizationId },
      data: {
        ...(name === undefined ? {} : { name }),
        ...(plan === undefined ? {} : { plan }),
        ...(loadServerIds === undefined ? {} : { loadServerIds }),
        version: version + 1,
        updatedAt: ctx.clock.now(),
      },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('benchmark_plan.name_taken', { name }, { cause: error });
    throw error;
  }
  const names = changedFields({ name: before.name }, { name });
  const contents = plan === undefined ? none : changedPlanFields(before.plan, plan);
  await recordAudit(ctx, {
    action: 'benchmark.update_plan',
    target: { kind: 'benchmark_plan', id: planId, label: name ?? before.name },
    before: { ...names.before, ...contents.before, ...servers.before },
    after: { appName: before.appName, ...names.after, ...contents.after, ...servers.after },
  });
  return { planId };
}

const none = { before: {}, after: {} };

/**
 * Returns the names of the load servers before and after a change. A change without load servers doesn't check them, because
 * each run does: a deleted one blocks no other change.
 */
async function changedLoadServers(ctx: Ctx, before: LockedPlan, { plan, loadServerIds }: UpdatePlanInput) {
  if (loadServerIds === undefined) {
    if (plan !== undefined) requireDistributable(plan, before.loadServerIds);
    return none;
  }
  const names = await loadServerNames(ctx, before.loadServerIds);
  return changedFields(
    { loadServers: before.loadServerIds.map((id) => names.get(id) ?? id) },
    { loadServers: await namesOfChosen(ctx, before, plan ?? benchmarkPlanSchema.parse(before.plan), loadServerIds) },
  );
}

/** Returns the names of the chosen load servers. An empty list needs no placement, as the app may have left the environment. */
async function namesOfChosen(
  ctx: Ctx,
  where: LockedPlan,
  plan: BenchmarkPlan,
  loadServerIds: readonly ServerId[],
): Promise<string[]> {
  if (loadServerIds.length === 0) return [];
  return await requireLoadServers(ctx, { ...(await requirePlacement(ctx, where)), plan, loadServerIds });
}
