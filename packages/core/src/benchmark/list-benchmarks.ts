// Lists runs, page by page.
import { type Ctx, type Page, toPage } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import type { BenchmarkSummary, ListBenchmarksInput } from './schema.ts';
import { loadRuns } from './store.ts';

export async function listBenchmarks(
  ctx: Ctx,
  input: ListBenchmarksInput,
  reach: Reach = wholeReach,
): Promise<Page<BenchmarkSummary>> {
  const { appId, cursor, limit } = input;
  const runs = await loadRuns(ctx, { reach, appId, after: cursor, limit: limit + 1 });
  return toPage(
    runs,
    limit,
    (run) => run.id,
    (run) => run,
  );
}
