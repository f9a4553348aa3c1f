// Reads deployments for display, in one query.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { type Ctx, countMax } from '../kernel/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import { awaitsBuildSql, isShownInStateSql } from './build-order.ts';
import {
  type DeploymentState,
  type DeploymentSummary,
  deploymentStateSchema,
  deploymentTriggerSchema,
} from './schema.ts';

interface SummaryRow {
  readonly id: string;
  readonly number: number;
  readonly appId: string;
  readonly appName: string;
  readonly appSlug: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly environmentName: string;
  readonly trigger: string;
  readonly state: string;
  readonly ref: string;
  readonly commitHash: string | null;
  readonly commitSubject: string | null;
  readonly commitAuthor: string | null;
  readonly releaseId: string | null;
  readonly releaseNumber: number | null;
  readonly actorName: string | null;
  readonly requestedByName: string | null;
  readonly deliveryId: string | null;
  readonly sender: string | null;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly queuedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly isCurrent: boolean;
  readonly hadLiveRelease: boolean;
  readonly awaitsBuild: boolean;
}

export interface DeploymentFilter {
  /** Limits the deployments to those that may be seen, by their target. */
  readonly reach: Reach;
  readonly id?: string | undefined;
  /** Only these; default: all. */
  readonly ids?: readonly string[] | undefined;
  readonly appId?: string | undefined;
  readonly environmentId?: string | undefined;
  /** As lists show it. */
  readonly state?: DeploymentState | undefined;
  readonly number?: number | undefined;
  readonly serverId?: string | undefined;
  readonly branch?: string | undefined;
  readonly requestedBy?: string | undefined;
  readonly search?: string | undefined;
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
}

export interface DeploymentQuery extends DeploymentFilter {
  /** Default: the newest first. */
  readonly order?: 'newest' | 'oldest' | undefined;
  /** Id of the last deployment of the page before. */
  readonly after?: string | null | undefined;
  readonly limit: number;
}

export async function loadDeployments(ctx: Ctx, filter: DeploymentQuery): Promise<DeploymentSummary[]> {
  const { organizationId } = ctx;
  const conditions = deploymentConditions(ctx, filter);
  const isOldestFirst = filter.order === 'oldest';
  const direction = isOldestFirst ? Prisma.sql`ASC` : Prisma.sql`DESC`;
  if (filter.after !== undefined && filter.after !== null) {
    conditions.push(Prisma.sql`(d.queued_at, d.id) ${isOldestFirst ? Prisma.sql`>` : Prisma.sql`<`} (
      SELECT last.queued_at, last.id FROM deployment AS last
      WHERE last.id = ${filter.after} AND last.organization_id = ${organizationId})`);
  }
  // The page is cut before anything is joined to it. A release may have been made live several times: only the last counts.
  const rows = await ctx.tx.$queryRaw<SummaryRow[]>`
    WITH page AS (
      SELECT * FROM deployment AS d WHERE ${Prisma.join(conditions, ' AND ')}
      ORDER BY d.queued_at ${direction}, d.id ${direction} LIMIT ${filter.limit}
    )
    SELECT page.id, page.number, page.app_id AS "appId", app.name AS "appName", app.slug AS "appSlug",
           environment.project_id AS "projectId", page.environment_id AS "environmentId", environment.name AS "environmentName", page.trigger, page.state,
           page.ref, page.commit_hash AS "commitHash", page.commit_subject AS "commitSubject",
           page.commit_author AS "commitAuthor", page.release_id AS "releaseId", release.number AS "releaseNumber",
           actor.name AS "actorName", requester.name AS "requestedByName",
           delivery.id AS "deliveryId", delivery.sender,
           page.failure_code AS "failureCode", page.failure_message AS "failureMessage",
           page.queued_at AS "queuedAt", page.started_at AS "startedAt", page.finished_at AS "finishedAt",
           page.state = 'live' AND page.release_id IS NOT NULL AND page.release_id = primary_server.live_release_id
             AND NOT EXISTS (
               SELECT 1 FROM deployment AS later
               WHERE later.app_id = page.app_id AND later.environment_id = page.environment_id
                 AND later.number > page.number AND later.state = 'live') AS "isCurrent",
           EXISTS (
             SELECT 1 FROM deployment AS earlier
             WHERE earlier.app_id = page.app_id AND earlier.environment_id = page.environment_id
               AND earlier.number < page.number AND earlier.state = 'live') AS "hadLiveRelease",
           ${awaitsBuildSql(Prisma.sql`page`)} AS "awaitsBuild"
    FROM page
    JOIN app ON app.id = page.app_id
    JOIN environment ON environment.id = page.environment_id
    LEFT JOIN LATERAL (
      SELECT live_release_id FROM placement JOIN placement_server ON placement_server.placement_id = placement.id
      WHERE placement.app_id = page.app_id AND placement.environment_id = page.environment_id
      ORDER BY placement_server.position LIMIT 1
    ) AS primary_server ON true
    LEFT JOIN release ON release.id = page.release_id
    LEFT JOIN push_decision ON push_decision.deployment_id = page.id
    LEFT JOIN webhook_delivery AS delivery ON delivery.id = push_decision.delivery_id
    LEFT JOIN "user" AS actor ON actor.id = page.actor_user_id
    LEFT JOIN "user" AS requester ON requester.id = page.requested_by_user_id
    ORDER BY page.queued_at ${direction}, page.id ${direction}`;
  return rows.map(toSummary);
}

export async function countDeployments(ctx: Ctx, filter: DeploymentFilter): Promise<number> {
  const [row] = await ctx.tx.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT 1 FROM deployment AS d WHERE ${Prisma.join(deploymentConditions(ctx, filter), ' AND ')} LIMIT ${countMax}
    ) AS matching`;
  return row?.count ?? 0;
}

/** Returns conditions on a row of `deployment AS d`. */
export function deploymentConditions({ organizationId }: Ctx, filter: DeploymentFilter): Prisma.Sql[] {
  const { reach, id, ids, appId, environmentId, state, serverId, branch, requestedBy, search, from, to } = filter;
  const conditions = [Prisma.sql`d.organization_id = ${organizationId}`];
  if (!reach.everywhere) {
    const reached = Prisma.sql`SELECT environment.id FROM environment
      WHERE environment.organization_id = ${organizationId} AND ${isReached(reach, environmentColumns)}`;
    conditions.push(Prisma.sql`d.environment_id IN (${reached})`);
  }
  if (id !== undefined) conditions.push(Prisma.sql`d.id = ${id}`);
  if (ids !== undefined) conditions.push(Prisma.sql`d.id = ANY(${[...ids]}::text[])`);
  if (appId !== undefined) conditions.push(Prisma.sql`d.app_id = ${appId}`);
  if (environmentId !== undefined) conditions.push(Prisma.sql`d.environment_id = ${environmentId}`);
  // Deployments of previews are listed in their environment only, and can't flood the others.
  if (id === undefined && ids === undefined && environmentId === undefined) {
    const previews = Prisma.sql`SELECT id FROM environment WHERE organization_id = ${organizationId} AND kind = 'preview'`;
    conditions.push(Prisma.sql`d.environment_id NOT IN (${previews})`);
  }
  if (state !== undefined) conditions.push(isShownInStateSql(Prisma.sql`d`, state));
  if (filter.number !== undefined) conditions.push(Prisma.sql`d.number = ${filter.number}`);
  if (serverId !== undefined) {
    conditions.push(Prisma.sql`d.id IN (
      SELECT id FROM deployment WHERE organization_id = ${organizationId} AND build_server_id = ${serverId}
      UNION ALL SELECT deployment_id FROM deployment_server
      WHERE organization_id = ${organizationId} AND server_id = ${serverId})`);
  }
  if (branch !== undefined) conditions.push(Prisma.sql`d.ref = ${branch}`);
  if (requestedBy !== undefined) conditions.push(Prisma.sql`d.requested_by_user_id = ${requestedBy}`);
  if (from !== undefined) conditions.push(Prisma.sql`d.queued_at >= ${from}`);
  if (to !== undefined) conditions.push(Prisma.sql`d.queued_at < ${to}`);
  if (search !== undefined && search !== '') conditions.push(matches(organizationId, search));
  return conditions;
}

const environmentColumns = { projectId: Prisma.sql`environment.project_id`, environmentId: Prisma.sql`environment.id` };

function matches(organizationId: string, search: string): Prisma.Sql {
  const needle = search.toLowerCase();
  const number = /^#(\d{1,9})$/.exec(search)?.[1];
  if (number !== undefined) return Prisma.sql`d.number = ${Number(number)}`;
  return Prisma.sql`(strpos(lower(d.commit_subject), ${needle}) > 0 OR strpos(lower(d.commit_author), ${needle}) > 0
    OR strpos(lower(d.ref), ${needle}) > 0 OR starts_with(d.commit_hash, ${needle})
    OR d.app_id IN (SELECT app.id FROM app
      WHERE app.organization_id = ${organizationId} AND strpos(lower(app.name), ${needle}) > 0))`;
}

function toSummary({ deliveryId, sender, ...row }: SummaryRow): DeploymentSummary {
  return {
    ...row,
    id: parseId('dep', row.id),
    appId: parseId('app', row.appId),
    projectId: parseId('prj', row.projectId),
    environmentId: parseId('env', row.environmentId),
    releaseId: row.releaseId === null ? null : parseId('rel', row.releaseId),
    push: deliveryId === null ? null : { deliveryId: parseId('dlv', deliveryId), sender: sender ?? '' },
    trigger: deploymentTriggerSchema.parse(row.trigger),
    state: deploymentStateSchema.parse(row.state),
    durationMs: row.startedAt === null ? null : durationMs(row.queuedAt, row.finishedAt),
  };
}

export function durationMs(from: Date | null, to: Date | null): number | null {
  return from === null || to === null ? null : Math.max(0, to.getTime() - from.getTime());
}
