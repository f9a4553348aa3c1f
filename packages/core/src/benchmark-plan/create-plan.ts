// Saves a benchmark plan of an app.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, isUniqueViolation } from '../kernel/index.ts';
import { lockApps, requirePlacement } from '../placement/index.ts';
import { requireLoadServers } from './load-servers.ts';
import type { CreatePlanInput, SavedPlanRef } from './schema.ts';

/** Most plans of an app that members save, and most of all when a repository adds one. */
export const plansMax = 50;

/** Throws app.not_found, benchmark_plan.name_taken, benchmark_plan.too_many and the errors of `requireLoadServers`. */
export async function createPlan(
  ctx: Ctx,
  { name, plan, loadServerIds = [], ...where }: CreatePlanInput,
): Promise<SavedPlanRef> {
  const { tx, organizationId } = ctx;
  const placement = await requirePlacement(ctx, where);
  const { appId, appName, environmentId } = placement;
  const loadServers = await requireLoadServers(ctx, { ...placement, plan, loadServerIds });
  await lockApps(ctx, [appId]);
  if ((await tx.benchmarkPlan.count({ where: { appId, organizationId, isFromRepository: false } })) >= plansMax) {
    throw new AppError('benchmark_plan.too_many', { appId });
  }
  const id = newId('bpl');
  const now = ctx.clock.now();
  const data = { id, organizationId, appId, environmentId, name, plan, loadServerIds, createdAt: now, updatedAt: now };
  try {
    await tx.benchmarkPlan.create({ data: { ...data, createdByUserId: actorUserId(ctx.actor) } });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('benchmark_plan.name_taken', { name }, { cause: error });
    throw error;
  }
  await recordAudit(ctx, {
    action: 'benchmark.create_plan',
    target: { kind: 'benchmark_plan', id, label: name },
    after: { appId, appName, environmentId, ...(loadServerIds.length === 0 ? {} : { loadServers }) },
  });
  return { planId: parseId('bpl', id) };
}
