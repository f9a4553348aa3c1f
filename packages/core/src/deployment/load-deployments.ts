// Reads deployments for display, in one query.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { Ctx } from '../kernel/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import { type DeploymentSummary, deploymentStateSchema, deploymentTriggerSchema } from './schema.ts';

interface SummaryRow {
  readonly id: string;
  readonly number: number;
  readonly appId: string;
  readonly appName: string;
  readonly appSlug: string;
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
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly queuedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly isCurrent: boolean;
}

export interface DeploymentFilter {
  /** Limits the deployments to those that may be seen, by their target. */
  readonly reach: Reach;
  readonly id?: string | undefined;
  readonly appId?: string | undefined;
  readonly environmentId?: string | undefined;
  readonly state?: string | undefined;
  /** Id of the last deployment of the page before. */
  readonly after?: string | null | undefined;
  readonly limit: number;
}

/** Newest first. */
export async function loadDeployments(ctx: Ctx, filter: DeploymentFilter): Promise<DeploymentSummary[]> {
  const { organizationId } = ctx;
  const conditions = [Prisma.sql`d.organization_id = ${organizationId}`];
  if (!filter.reach.everywhere) {
    const projectId = Prisma.sql`(SELECT project_id FROM environment WHERE environment.id = d.environment_id)`;
    conditions.push(isReached(filter.reach, { projectId, environmentId: Prisma.sql`d.environment_id` }));
  }
  if (filter.id !== undefined) conditions.push(Prisma.sql`d.id = ${filter.id}`);
  if (filter.appId !== undefined) conditions.push(Prisma.sql`d.app_id = ${filter.appId}`);
  if (filter.environmentId !== undefined) conditions.push(Prisma.sql`d.environment_id = ${filter.environmentId}`);
  if (filter.state !== undefined) conditions.push(Prisma.sql`d.state = ${filter.state}`);
  if (filter.after !== undefined && filter.after !== null) {
    conditions.push(Prisma.sql`(d.queued_at, d.id) < (
      SELECT last.queued_at, last.id FROM deployment AS last
      WHERE last.id = ${filter.after} AND last.organization_id = ${organizationId})`);
  }
  // The page is cut before anything is joined to it. A release may have been made live several times: only the last counts.
  const rows = await ctx.tx.$queryRaw<SummaryRow[]>`
    WITH page AS (
      SELECT * FROM deployment AS d WHERE ${Prisma.join(conditions, ' AND ')}
      ORDER BY d.queued_at DESC, d.id DESC LIMIT ${filter.limit}
    )
    SELECT page.id, page.number, page.app_id AS "appId", app.name AS "appName", app.slug AS "appSlug",
           page.environment_id AS "environmentId", environment.name AS "environmentName", page.trigger, page.state,
           page.ref, page.commit_hash AS "commitHash", page.commit_subject AS "commitSubject",
           page.commit_author AS "commitAuthor", page.release_id AS "releaseId", release.number AS "releaseNumber",
           actor.name AS "actorName", requester.name AS "requestedByName",
           page.failure_code AS "failureCode", page.failure_message AS "failureMessage",
           page.queued_at AS "queuedAt", page.started_at AS "startedAt", page.finished_at AS "finishedAt",
           page.state = 'live' AND page.release_id IS NOT NULL AND page.release_id = primary_server.live_release_id
             AND NOT EXISTS (
               SELECT 1 FROM deployment AS later
               WHERE later.app_id = page.app_id AND later.environment_id = page.environment_id
                 AND later.number > page.number AND later.state = 'live') AS "isCurrent"
    FROM page
    JOIN app ON app.id = page.app_id
    JOIN environment ON environment.id = page.environment_id
    LEFT JOIN LATERAL (
      SELECT live_release_id FROM placement JOIN placement_server ON placement_server.placement_id = placement.id
      WHERE placement.app_id = page.app_id AND placement.environment_id = page.environment_id
      ORDER BY placement_server.position LIMIT 1
    ) AS primary_server ON true
    LEFT JOIN release ON release.id = page.release_id
    LEFT JOIN "user" AS actor ON actor.id = page.actor_user_id
    LEFT JOIN "user" AS requester ON requester.id = page.requested_by_user_id
    ORDER BY page.queued_at DESC, page.id DESC`;
  return rows.map(toSummary);
}

function toSummary(row: SummaryRow): DeploymentSummary {
  return {
    ...row,
    id: parseId('dep', row.id),
    appId: parseId('app', row.appId),
    environmentId: parseId('env', row.environmentId),
    releaseId: row.releaseId === null ? null : parseId('rel', row.releaseId),
    trigger: deploymentTriggerSchema.parse(row.trigger),
    state: deploymentStateSchema.parse(row.state),
    durationMs: durationMs(row.startedAt, row.finishedAt),
  };
}

export function durationMs(from: Date | null, to: Date | null): number | null {
  return from === null || to === null ? null : Math.max(0, to.getTime() - from.getTime());
}
