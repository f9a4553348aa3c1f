// Owns the procedures of benchmark runs.
import {
  benchmarkDetailSchema,
  benchmarkPageSchema,
  benchmarkRefSchema,
  cancelBenchmark,
  createBenchmark,
  createBenchmarkInputSchema,
  getBenchmark,
  listBenchmarks,
  listBenchmarksInputSchema,
} from '@fairlead/core/benchmark';
import { memberProcedure, router } from '../ladder.ts';
import { byPlacement, byRun } from '../scopes.ts';

export const benchmarkRouter = router({
  list: memberProcedure('benchmark.read', { lists: 'environment' })
    .input(listBenchmarksInputSchema)
    .output(benchmarkPageSchema)
    .query(({ ctx, input }) => listBenchmarks(ctx.core, input, ctx.access.reach('benchmark.read'))),

  get: memberProcedure('benchmark.read', { scope: byRun })
    .input(benchmarkRefSchema)
    .output(benchmarkDetailSchema)
    .query(({ ctx, input }) => getBenchmark(ctx.core, input)),

  create: memberProcedure('benchmark.write', { scope: byPlacement })
    .input(createBenchmarkInputSchema)
    .output(benchmarkRefSchema)
    .mutation(({ ctx, input }) => createBenchmark(ctx.core, input)),

  cancel: memberProcedure('benchmark.write', { scope: byRun })
    .input(benchmarkRefSchema)
    .output(benchmarkRefSchema)
    .mutation(({ ctx, input }) => cancelBenchmark(ctx.core, input)),
});
