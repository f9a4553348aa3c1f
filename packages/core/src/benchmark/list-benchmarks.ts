// Lists runs, page by page, and the values to filter them by.
import { type CountedPage, type Ctx, toPage } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import type { BenchmarkFilters, BenchmarkSummary, ListBenchmarksInput } from './schema.ts';
import { countRuns, loadRuns, loadTags } from './store.ts';

export async function listBenchmarks(
  ctx: Ctx,
  { cursor, limit, ...input }: ListBenchmarksInput,
  reach: Reach = wholeReach,
): Promise<CountedPage<BenchmarkSummary>> {
  const filter = { ...input, reach };
  const runs = await loadRuns(ctx, { ...filter, after: cursor, limit: limit + 1 });
  const page = toPage(
    runs,
    limit,
    (run) => run.id,
    (run) => run,
  );
  return { ...page, total: cursor ? null : await countRuns(ctx, filter) };
}

export async function listBenchmarkFilters(ctx: Ctx, reach: Reach = wholeReach): Promise<BenchmarkFilters> {
  return { tags: await loadTags(ctx, { reach }) };
}
