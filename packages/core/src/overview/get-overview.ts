// Returns the data of the overview page, in a fixed number of queries.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { copiesOnServer, countApps, loadApps } from '../app/index.ts';
import { loadDeployments } from '../deployment/index.ts';
import type { AppLinks } from '../domain/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { isReached, type Reach, reachWithin } from '../role/index.ts';
import { listExpiringSecrets } from '../secret/index.ts';
import { loadServers } from '../server/index.ts';
import { attentionOf, type FailedDeployment, type UnhealthyApp } from './rules.ts';
import type { GetOverviewInput, Overview } from './schema.ts';

const appsShown = 12;
const serversShown = 12;
const deploymentsShown = 8;
const failuresShown = 5;

/** Reach of the reader for each kind of row. */
export interface OverviewReach {
  readonly apps: Reach;
  readonly deployments: Reach;
  readonly secrets: Reach;
  /** Servers are the organization's: seen all or none. */
  readonly servers: boolean;
}

/** The first page: the latest of everything that the reader may see, and what of it deserves attention. */
export async function getOverview(
  ctx: Ctx,
  { projectId }: GetOverviewInput,
  links: AppLinks,
  reach: OverviewReach,
): Promise<Overview> {
  const sees = {
    apps: await reachWithin(ctx, reach.apps, projectId),
    deployments: await reachWithin(ctx, reach.deployments, projectId),
    secrets: await reachWithin(ctx, reach.secrets, projectId),
    servers: reach.servers,
  };
  const apps = await loadApps(ctx, { reach: sees.apps, order: 'latest', limit: appsShown }, links);
  const appCount = await countApps(ctx, sees.apps);
  const servers = sees.servers ? await loadServers(ctx) : [];
  const deployments = await loadDeployments(ctx, { reach: sees.deployments, limit: deploymentsShown });
  return {
    attention: attentionOf({
      servers,
      failed: await findFailed(ctx, sees.deployments),
      unhealthy: await findUnhealthy(ctx, sees.apps),
      expiring: await listExpiringSecrets(ctx, failuresShown, sees.secrets),
      now: ctx.clock.now(),
    }),
    apps: apps.map(({ summary }) => summary),
    appCount,
    servers: servers.slice(0, serversShown),
    serverCount: servers.length,
    deployments,
  };
}

const environmentColumns = { projectId: Prisma.sql`environment.project_id`, environmentId: Prisma.sql`environment.id` };

/** Returns apps with a failed last deployment: a later success or cancel settles it. */
async function findFailed(ctx: Ctx, reach: Reach): Promise<FailedDeployment[]> {
  const rows = await ctx.tx.$queryRaw<
    { id: string; number: number; appName: string; appSlug: string; failureMessage: string | null }[]
  >`
    SELECT last.id, last.number, app.name AS "appName", app.slug AS "appSlug", last.failure_message AS "failureMessage"
    FROM app CROSS JOIN LATERAL (
      SELECT * FROM deployment WHERE deployment.app_id = app.id
      ORDER BY deployment.queued_at DESC, deployment.id DESC LIMIT 1
    ) AS last
    JOIN environment ON environment.id = last.environment_id
    WHERE app.organization_id = ${ctx.organizationId} AND last.state = 'failed' AND ${isReached(reach, environmentColumns)}
    ORDER BY last.queued_at DESC LIMIT ${failuresShown}`;
  return rows.map(({ id, ...row }) => ({ ...row, deploymentId: parseId('dep', id) }));
}

/** Apps with a live release and, on one of their connected servers, fewer working copies of it than wanted. */
async function findUnhealthy(ctx: Ctx, reach: Reach): Promise<UnhealthyApp[]> {
  return ctx.tx.$queryRaw<UnhealthyApp[]>`
    SELECT app.name AS "appName", app.slug AS "appSlug", environment.id AS "environmentId", environment.name AS "environmentName",
           sum(least(copies.working, copies.wanted))::int AS "healthy", sum(copies.wanted)::int AS "wanted"
    FROM placement
    JOIN placement_server ON placement_server.placement_id = placement.id
    JOIN app ON app.id = placement.app_id
    JOIN server ON server.id = placement_server.server_id
    JOIN environment ON environment.id = placement.environment_id
    CROSS JOIN ${copiesOnServer}
    WHERE placement.organization_id = ${ctx.organizationId} AND placement_server.live_release_id IS NOT NULL
      AND server.connected_gateway IS NOT NULL AND server.applied_epoch = server.desired_epoch
      AND server.applied_number = server.desired_number
      AND ${isReached(reach, environmentColumns)}
    GROUP BY app.id, environment.id
    HAVING bool_or(copies.working < copies.wanted)
    ORDER BY app.name, environment.name LIMIT ${failuresShown}`;
}
