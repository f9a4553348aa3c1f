// Procedures of saved benchmark plans.
import {
  createPlan,
  createPlanInputSchema,
  deletePlan,
  getPlan,
  listPlans,
  listPlansInputSchema,
  pauseSchedule,
  pauseScheduleInputSchema,
  savedPlanPageSchema,
  savedPlanRefSchema,
  savedPlanSchema,
  updatePlan,
  updatePlanInputSchema,
  updateSchedule,
  updateScheduleInputSchema,
  uploadPlanInputSchema,
} from '@fairlead/core/benchmark-plan';
import { memberProcedure, router } from '../procedures.ts';
import { approverIn, open } from '../protection.ts';
import { byBenchmarkPlan, byPlacement } from '../scopes.ts';

const sendsNothing = open('a saved plan sends no request');

export const benchmarkPlanRouter = router({
  list: memberProcedure('benchmark.read', { input: listPlansInputSchema, lists: 'environment' })
    .output(savedPlanPageSchema)
    .query(({ ctx, input }) => listPlans(ctx.core, input, ctx.access.reach('benchmark.read'))),

  get: memberProcedure('benchmark.read', { input: savedPlanRefSchema, scope: byBenchmarkPlan })
    .output(savedPlanSchema)
    .query(({ ctx, input }) => getPlan(ctx.core, input)),

  create: memberProcedure('benchmark.write', {
    input: createPlanInputSchema,
    scope: byPlacement,
    protection: sendsNothing,
  })
    .output(savedPlanRefSchema)
    .mutation(({ ctx, input }) => createPlan(ctx.core, input)),

  /** Creates a plan from a document in the format of docs/benchmarks/plan.schema.json. */
  upload: memberProcedure('benchmark.write', {
    input: uploadPlanInputSchema,
    scope: byPlacement,
    protection: sendsNothing,
  })
    .output(savedPlanRefSchema)
    .mutation(({ ctx, input: { document, ...where } }) =>
      createPlan(ctx.core, { ...where, name: document.name, plan: document.plan }),
    ),

  // Its schedule runs it without asking again.
  update: memberProcedure('benchmark.write', {
    input: updatePlanInputSchema,
    scope: byBenchmarkPlan,
    protection: approverIn(byBenchmarkPlan),
  })
    .output(savedPlanRefSchema)
    .mutation(({ ctx, input }) => updatePlan(ctx.core, input)),

  delete: memberProcedure('benchmark.write', {
    input: savedPlanRefSchema,
    scope: byBenchmarkPlan,
    protection: open('it takes load away'),
  })
    .output(savedPlanRefSchema)
    .mutation(({ ctx, input }) => deletePlan(ctx.core, input)),

  updateSchedule: memberProcedure('benchmark.write', {
    input: updateScheduleInputSchema,
    scope: byBenchmarkPlan,
    protection: approverIn(byBenchmarkPlan),
  })
    .output(savedPlanRefSchema)
    .mutation(({ ctx, input }) => updateSchedule(ctx.core, input)),

  pauseSchedule: memberProcedure('benchmark.write', {
    input: pauseScheduleInputSchema,
    scope: byBenchmarkPlan,
    protection: approverIn(byBenchmarkPlan),
  })
    .output(savedPlanRefSchema)
    .mutation(({ ctx, input }) => pauseSchedule(ctx.core, input)),
});
