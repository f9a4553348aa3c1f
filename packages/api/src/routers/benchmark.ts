// Procedures of benchmark runs.

import { reportIdSchema } from '@fairlead/contract/ids';
import {
  benchmarkDetailSchema,
  benchmarkDocumentSchema,
  benchmarkFiltersSchema,
  benchmarkPageSchema,
  benchmarkRefSchema,
  cancelBenchmark,
  createBenchmark,
  createBenchmarkInputSchema,
  deleteBenchmark,
  exportBenchmark,
  getBenchmark,
  getReport,
  importBenchmark,
  importBenchmarkInputSchema,
  importedBenchmarkSchema,
  listBenchmarkFilters,
  listBenchmarks,
  listBenchmarksInputSchema,
  previewReport,
  publishBenchmark,
  publishBenchmarkInputSchema,
  reportPreviewSchema,
  reportStateSchema,
  unpublishBenchmark,
  updateBenchmark,
  updateBenchmarkInputSchema,
} from '@fairlead/core/benchmark';
import { z } from 'zod';
import { createBenchmarkRules } from '../benchmark-rules.ts';
import { memberProcedure, router } from '../procedures.ts';
import { open } from '../protection.ts';
import { byPlacement, byRun } from '../scopes.ts';

export const benchmarkRouter = router({
  list: memberProcedure('benchmark.read', { input: listBenchmarksInputSchema, lists: 'environment' })
    .output(benchmarkPageSchema)
    .query(({ ctx, input }) => listBenchmarks(ctx.core, input, ctx.access.reach('benchmark.read'))),

  listFilters: memberProcedure('benchmark.read', { lists: 'environment' })
    .output(benchmarkFiltersSchema)
    .query(({ ctx }) => listBenchmarkFilters(ctx.core, ctx.access.reach('benchmark.read'))),

  get: memberProcedure('benchmark.read', { input: benchmarkRefSchema, scope: byRun })
    .output(benchmarkDetailSchema)
    .query(({ ctx, input }) => getBenchmark(ctx.core, input)),

  export: memberProcedure('benchmark.read', { input: benchmarkRefSchema, scope: byRun })
    .output(benchmarkDocumentSchema)
    .query(({ ctx, input }) => exportBenchmark(ctx.core, input)),

  create: memberProcedure('benchmark.write', {
    input: createBenchmarkInputSchema,
    ...createBenchmarkRules,
  })
    .output(benchmarkRefSchema)
    .mutation(({ ctx, input }) => createBenchmark(ctx.core, input)),

  import: memberProcedure('benchmark.write', {
    input: importBenchmarkInputSchema,
    scope: byPlacement,
    protection: open('it sends no request'),
  })
    .output(importedBenchmarkSchema)
    .mutation(({ ctx, input }) => importBenchmark(ctx.core, input)),

  cancel: memberProcedure('benchmark.write', {
    input: benchmarkRefSchema,
    scope: byRun,
    protection: open('it takes load away'),
  })
    .output(benchmarkRefSchema)
    .mutation(({ ctx, input }) => cancelBenchmark(ctx.core, input)),

  report: memberProcedure('benchmark.read', { input: benchmarkRefSchema, scope: byRun })
    .output(reportStateSchema.nullable())
    .query(({ ctx, input }) => getReport(ctx.core, input)),

  previewReport: memberProcedure('benchmark.publish', { input: benchmarkRefSchema, scope: byRun })
    .output(reportPreviewSchema)
    .query(({ ctx, input }) => previewReport(ctx.core, input)),

  publish: memberProcedure('benchmark.publish', {
    input: publishBenchmarkInputSchema,
    scope: byRun,
    fresh: true,
    protection: open('visitors of the app get the same'),
  })
    .output(z.object({ reportId: reportIdSchema }))
    .mutation(({ ctx, input }) => publishBenchmark(ctx.core, input)),

  unpublish: memberProcedure('benchmark.publish', {
    input: benchmarkRefSchema,
    scope: byRun,
    protection: open('visitors of the app get the same'),
  })
    .output(benchmarkRefSchema)
    .mutation(({ ctx, input }) => unpublishBenchmark(ctx.core, input)),

  update: memberProcedure('benchmark.write', {
    input: updateBenchmarkInputSchema,
    scope: byRun,
    protection: open('it changes words about a run'),
  })
    .output(benchmarkRefSchema)
    .mutation(({ ctx, input }) => updateBenchmark(ctx.core, input)),

  delete: memberProcedure('benchmark.write', {
    input: benchmarkRefSchema,
    scope: byRun,
    protection: open('it deletes figures only'),
  })
    .output(benchmarkRefSchema)
    .mutation(({ ctx, input }) => deleteBenchmark(ctx.core, input)),
});
