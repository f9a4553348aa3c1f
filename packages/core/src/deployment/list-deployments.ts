// Lists deployments, page by page.
import { type CountedPage, type Ctx, toPage } from '../kernel/index.ts';
import { type Reach, reachWithin, wholeReach } from '../role/index.ts';
import { countDeployments, loadDeployments } from './load-deployments.ts';
import type { DeploymentSummary, ListDeploymentsInput } from './schema.ts';

/** `ids`: those of `attention`, which the caller finds. */
export async function listDeployments(
  ctx: Ctx,
  { cursor, limit, order, projectId, ...input }: ListDeploymentsInput,
  reach: Reach = wholeReach,
  ids?: readonly string[],
): Promise<CountedPage<DeploymentSummary>> {
  const filter = { ...input, ids, reach: await reachWithin(ctx, reach, projectId) };
  const rows = await loadDeployments(ctx, { ...filter, order, after: cursor, limit: limit + 1 });
  const page = toPage(
    rows,
    limit,
    (row) => row.id,
    (row) => row,
  );
  return { ...page, total: cursor ? null : await countDeployments(ctx, filter) };
}
