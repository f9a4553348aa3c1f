// Lists and returns saved plans.
import { AppError, type Ctx, type Page, toPage } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import type { ListPlansInput, SavedPlan, SavedPlanRef } from './schema.ts';
import { loadPlans } from './store.ts';

export async function listPlans(
  ctx: Ctx,
  { cursor, limit, ...filter }: ListPlansInput,
  reach: Reach = wholeReach,
): Promise<Page<SavedPlan>> {
  const plans = await loadPlans(ctx, { ...filter, reach, after: cursor, limit: limit + 1 });
  return toPage(
    plans,
    limit,
    (plan) => plan.id,
    (plan) => plan,
  );
}

/** Throws benchmark_plan.not_found. */
export async function getPlan(ctx: Ctx, { planId }: SavedPlanRef): Promise<SavedPlan> {
  const [plan] = await loadPlans(ctx, { reach: wholeReach, id: planId, limit: 1 });
  if (plan === undefined) throw new AppError('benchmark_plan.not_found', { planId });
  return plan;
}
