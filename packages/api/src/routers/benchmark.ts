// Procedures of benchmark runs.
import {
  benchmarkDetailSchema,
  benchmarkDocumentSchema,
  benchmarkPageSchema,
  benchmarkRefSchema,
  cancelBenchmark,
  createBenchmark,
  createBenchmarkInputSchema,
  exportBenchmark,
  getBenchmark,
  listBenchmarks,
  listBenchmarksInputSchema,
} from '@fairlead/core/benchmark';
import { memberProcedure, router } from '../procedures.ts';
import { approverIn, open } from '../protection.ts';
import { byPlacement, byRun } from '../scopes.ts';

export const benchmarkRouter = router({
  list: memberProcedure('benchmark.read', { input: listBenchmarksInputSchema, lists: 'environment' })
    .output(benchmarkPageSchema)
    .query(({ ctx, input }) => listBenchmarks(ctx.core, input, ctx.access.reach('benchmark.read'))),

  get: memberProcedure('benchmark.read', { input: benchmarkRefSchema, scope: byRun })
    .output(benchmarkDetailSchema)
    .query(({ ctx, input }) => getBenchmark(ctx.core, input)),

  export: memberProcedure('benchmark.read', { input: benchmarkRefSchema, scope: byRun })
    .output(benchmarkDocumentSchema)
    .query(({ ctx, input }) => exportBenchmark(ctx.core, input)),

  create: memberProcedure('benchmark.write', {
    input: createBenchmarkInputSchema,
    scope: byPlacement,
    protection: approverIn(byPlacement),
  })
    .output(benchmarkRefSchema)
    .mutation(({ ctx, input }) => createBenchmark(ctx.core, input)),

  cancel: memberProcedure('benchmark.write', {
    input: benchmarkRefSchema,
    scope: byRun,
    protection: open('it takes load away'),
  })
    .output(benchmarkRefSchema)
    .mutation(({ ctx, input }) => cancelBenchmark(ctx.core, input)),
});
