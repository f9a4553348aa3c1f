// Returns the totals of the last 24 hours beside those of the 24 hours before.
import { Prisma } from '@fairlead/db';
import type { Ctx } from '../kernel/index.ts';
import { dayMs, sumTraffic } from '../metric/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import { type DeploymentCounts, totalsOf } from './rules.ts';
import type { Totals } from './schema.ts';

export interface TotalsReach {
  readonly metrics: Reach;
  readonly deployments: Reach;
}

export async function getTotals(ctx: Ctx, reach: TotalsReach): Promise<Totals> {
  return totalsOf(await sumTraffic(ctx, reach.metrics), await countDeployments(ctx, reach.deployments));
}

/** Deployments of previews count on their own pages only, as in lists. */
async function countDeployments(ctx: Ctx, reach: Reach): Promise<DeploymentCounts> {
  const now = ctx.clock.now().getTime();
  const [dayAgo, twoDaysAgo] = [new Date(now - dayMs), new Date(now - 2 * dayMs)];
  const columns = { projectId: Prisma.sql`environment.project_id`, environmentId: Prisma.sql`environment.id` };
  const counted = Prisma.sql`deployment JOIN environment ON environment.id = deployment.environment_id
    AND environment.kind = 'standard' AND ${isReached(reach, columns)}`;
  const [row] = await ctx.tx.$queryRaw<DeploymentCounts[]>`
    SELECT count(*) FILTER (WHERE deployment.queued_at >= ${dayAgo})::int AS "current",
           count(*) FILTER (WHERE deployment.queued_at < ${dayAgo})::int AS "before",
           EXISTS (SELECT 1 FROM ${counted}
                   WHERE deployment.organization_id = ${ctx.organizationId} AND deployment.queued_at < ${dayAgo}) AS "hasEarlier"
    FROM ${counted}
    WHERE deployment.organization_id = ${ctx.organizationId} AND deployment.queued_at >= ${twoDaysAgo}`;
  return row ?? { current: 0, before: 0, hasEarlier: false };
}
