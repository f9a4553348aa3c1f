// Procedures of saved benchmark plans.
import {
  createPlan,
  createPlanInputSchema,
  deletePlan,
  getPlan,
  listPlans,
  listPlansInputSchema,
  lockPlan,
  pauseSchedule,
  pauseScheduleInputSchema,
  type SavedPlanRef,
  savedPlanPageSchema,
  savedPlanRefSchema,
  savedPlanSchema,
  updatePlan,
  updatePlanInputSchema,
  updateSchedule,
  updateScheduleInputSchema,
  uploadPlanInputSchema,
} from '@fairlead/core/benchmark-plan';
import type { Ctx } from '@fairlead/core/kernel';
import { createPlanRules, pauseScheduleRules, updatePlanRules, updateScheduleRules } from '../benchmark-rules.ts';
import { memberProcedure, router } from '../procedures.ts';
import { open } from '../protection.ts';
import { byBenchmarkPlan, byPlacement } from '../scopes.ts';

/** Locks the plan, then checks the rights again: another member may have chosen load servers since the first check. */
async function lockAndVerify(
  { core, verifyRights }: { readonly core: Ctx; readonly verifyRights: () => Promise<void> },
  { planId }: SavedPlanRef,
): Promise<Ctx> {
  await lockPlan(core, planId);
  await verifyRights();
  return core;
}

export const benchmarkPlanRouter = router({
  list: memberProcedure('benchmark.read', { input: listPlansInputSchema, lists: 'environment' })
    .output(savedPlanPageSchema)
    .query(({ ctx, input }) => listPlans(ctx.core, input, ctx.access.reach('benchmark.read'))),

  get: memberProcedure('benchmark.read', { input: savedPlanRefSchema, scope: byBenchmarkPlan })
    .output(savedPlanSchema)
    .query(({ ctx, input }) => getPlan(ctx.core, input)),

  create: memberProcedure('benchmark.write', {
    input: createPlanInputSchema,
    ...createPlanRules,
  })
    .output(savedPlanRefSchema)
    .mutation(({ ctx, input }) => createPlan(ctx.core, input)),

  /** Creates a plan from a document in the format of docs/benchmarks/plan.schema.json. */
  upload: memberProcedure('benchmark.write', {
    input: uploadPlanInputSchema,
    scope: byPlacement,
    protection: open('a saved plan sends no request'),
  })
    .output(savedPlanRefSchema)
    .mutation(({ ctx, input: { document, ...where } }) =>
      createPlan(ctx.core, { ...where, name: document.name, plan: document.plan }),
    ),

  update: memberProcedure('benchmark.write', {
    input: updatePlanInputSchema,
    ...updatePlanRules,
  })
    .output(savedPlanRefSchema)
    .mutation(async ({ ctx, input }) => updatePlan(await lockAndVerify(ctx, input), input)),

  delete: memberProcedure('benchmark.write', {
    input: savedPlanRefSchema,
    scope: byBenchmarkPlan,
    protection: open('it takes load away'),
  })
    .output(savedPlanRefSchema)
    .mutation(({ ctx, input }) => deletePlan(ctx.core, input)),

  updateSchedule: memberProcedure('benchmark.write', {
    input: updateScheduleInputSchema,
    ...updateScheduleRules,
  })
    .output(savedPlanRefSchema)
    .mutation(async ({ ctx, input }) => updateSchedule(await lockAndVerify(ctx, input), input)),

  pauseSchedule: memberProcedure('benchmark.write', {
    input: pauseScheduleInputSchema,
    ...pauseScheduleRules,
  })
    .output(savedPlanRefSchema)
    .mutation(async ({ ctx, input }) => pauseSchedule(await lockAndVerify(ctx, input), input)),
});
