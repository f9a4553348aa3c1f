// Lists deployments, page by page.
import { type Ctx, type Page, toPage } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { loadDeployments } from './load-deployments.ts';
import type { DeploymentSummary, ListDeploymentsInput } from './schema.ts';

export async function listDeployments(
  ctx: Ctx,
  input: ListDeploymentsInput,
  reach: Reach = wholeReach,
): Promise<Page<DeploymentSummary>> {
  const rows = await loadDeployments(ctx, {
    reach,
    appId: input.appId,
    environmentId: input.environmentId,
    state: input.state,
    after: input.cursor,
    limit: input.limit + 1,
  });
  return toPage(
    rows,
    input.limit,
    (row) => row.id,
    (row) => row,
  );
}
