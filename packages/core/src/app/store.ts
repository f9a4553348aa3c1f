// Reads apps for lists: placement, live release, last deployment, status. The number of queries does not depend on the
// number of apps.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { deploymentStateSchema, deploymentTriggerSchema } from '../deployment/index.ts';
import { type AppLinks, domainUrl, isWildcard } from '../domain/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { loadTraffic, noTraffic } from '../metric/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import { isConnected } from '../server/index.ts';
import { appStatus, type Copies } from './rules.ts';
import type { AppStatus, AppSummary, DeploymentBrief } from './schema.ts';

interface AppRow {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly repositoryUrl: string;
  readonly rootFolder: string;
  readonly command: string[];
  readonly healthPath: string;
  readonly createdAt: Date;
  readonly branch: string;
  readonly instancesWanted: number;
  readonly secretsProblem: string | null;
  readonly environmentId: string;
  readonly environmentName: string;
  readonly isPrimary: boolean;
  readonly serverId: string;
  readonly serverName: string;
  readonly serverIsLocal: boolean;
  readonly connectedGateway: string | null;
  readonly lastSeenAt: Date | null;
  readonly releaseId: string | null;
  readonly releaseNumber: number;
  readonly releaseCommitHash: string;
  readonly releaseCommitSubject: string;
  readonly deploymentId: string | null;
  readonly deploymentNumber: number;
  readonly deploymentState: string | null;
  readonly deploymentTrigger: string;
  readonly deploymentCommitHash: string | null;
  readonly deploymentCommitSubject: string | null;
  readonly deploymentQueuedAt: Date;
  readonly deploymentFinishedAt: Date | null;
  readonly hosts: string[];
  readonly firstPath: string | null;
  readonly copies: Copies[];
  /** All on which it runs there. */
  readonly serverIds: string[];
  readonly deploysPausedAt: Date | null;
}

export interface AppFilter {
  /** Limits the apps to those that may be seen, by their project or an environment where they run. */
  readonly reach: Reach;
  readonly slug?: string;
  /** Only these; default: all. */
  readonly ids?: readonly string[] | undefined;
  /** Without one, each app is shown in its primary environment, or in the oldest of those that may be seen. */
  readonly environmentId?: string | undefined;
  /** Apps that run on this server, each in an environment where they do. */
  readonly serverId?: string | undefined;
  readonly branch?: string | undefined;
  readonly search?: string | undefined;
}

export interface AppQuery extends AppFilter {
  /** Name and id of the last row of the page before. */
  readonly after?: AppCursor | null;
  readonly order: 'name' | 'name_descending' | 'latest';
  readonly limit: number;
}

export interface AppCursor {
  readonly name: string;
  readonly id: string;
}

/** A summary and what only the page of one app shows. */
export interface LoadedApp {
  readonly summary: AppSummary;
  readonly row: AppRow;
  readonly serverConnected: boolean;
}

export async function loadApps(ctx: Ctx, filter: AppQuery, links: AppLinks): Promise<LoadedApp[]> {
  const now = ctx.clock.now();
  const rows = await queryApps(ctx, filter);
  const traffic = await loadTraffic(
    ctx,
    rows.flatMap(({ id: appId, environmentId, serverIds }) =>
      serverIds.map((serverId) => ({ appId, environmentId, serverId })),
    ),
  );
  return rows.map((row) => {
    const serverConnected = isConnected(row, now);
    const lastDeployment = briefOf(row);
    const host = row.hosts[0];
    const { requestsPerSecond, errorsPerSecond, p99Ms, sparkline } = traffic.get(row.id) ?? noTraffic;
    const summary: AppSummary = {
      id: parseId('app', row.id),
      name: row.name,
      slug: row.slug,
      projectId: parseId('prj', row.projectId),
      projectName: row.projectName,
      repositoryUrl: row.repositoryUrl,
      rootFolder: row.rootFolder,
      branch: row.branch,
      environmentId: parseId('env', row.environmentId),
      environmentName: row.environmentName,
      isPrimary: row.isPrimary,
      serverId: parseId('srv', row.serverId),
      serverName: row.serverName,
      serverCount: row.serverIds.length,
      status: statusOf(row, now),
      url:
        host === undefined || isWildcard({ host })
          ? null
          : domainUrl({ host, pathPrefix: row.firstPath ?? '/' }, row.serverIsLocal, links),
      hosts: row.hosts,
      liveRelease:
        row.releaseId === null
          ? null
          : {
              id: parseId('rel', row.releaseId),
              number: row.releaseNumber,
              commitHash: row.releaseCommitHash,
              commitSubject: row.releaseCommitSubject,
            },
      lastDeployment,
      requestsPerSecond,
      errorsPerSecond,
      p99Ms,
      sparkline: [...sparkline],
      createdAt: row.createdAt,
    };
    return { summary, row, serverConnected };
  });
}

export async function countApps(ctx: Ctx, reach: Reach): Promise<number> {
  return countMatchingApps(ctx, { reach });
}

export async function countMatchingApps(ctx: Ctx, filter: AppFilter): Promise<number> {
  const [row] = await ctx.tx.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM app WHERE ${Prisma.join(conditionsOf(ctx, filter), ' AND ')}`;
  return row?.count ?? 0;
}

/** A row of `placement` beside its app. */
const placed = { projectId: Prisma.sql`app.project_id`, environmentId: Prisma.sql`placement.environment_id` };

/** A row of `domain` beside its app. */
const routed = { projectId: Prisma.sql`app.project_id`, environmentId: Prisma.sql`domain.environment_id` };

/** Matches placements in which the app may be shown, each with a server. */
function isShown({ reach, environmentId, serverId, branch }: AppFilter): Prisma.Sql {
  const conditions = [isReached(reach, placed)];
  if (environmentId !== undefined) conditions.push(Prisma.sql`placement.environment_id = ${environmentId}`);
  if (branch !== undefined) conditions.push(Prisma.sql`placement.branch = ${branch}`);
  conditions.push(Prisma.sql`EXISTS (SELECT 1 FROM placement_server WHERE placement_server.placement_id = placement.id
    ${serverId === undefined ? Prisma.empty : Prisma.sql`AND placement_server.server_id = ${serverId}`})`);
  return Prisma.join(conditions, ' AND ');
}

/** Returns conditions on a row of `app`. */
function conditionsOf({ organizationId }: Ctx, filter: AppFilter): Prisma.Sql[] {
  const { reach, slug, search, ids } = filter;
  const conditions = [Prisma.sql`app.organization_id = ${organizationId}`];
  const isNarrowed = [filter.environmentId, filter.serverId, filter.branch].some((value) => value !== undefined);
  if (!reach.everywhere || isNarrowed) {
    conditions.push(
      Prisma.sql`EXISTS (SELECT 1 FROM placement WHERE placement.app_id = app.id AND ${isShown(filter)})`,
    );
  }
  if (slug !== undefined) conditions.push(Prisma.sql`app.slug = ${slug}`);
  if (ids !== undefined) conditions.push(Prisma.sql`app.id = ANY(${[...ids]}::text[])`);
  if (search !== undefined && search !== '') {
    const needle = search.toLowerCase();
    conditions.push(Prisma.sql`(strpos(lower(app.name), ${needle}) > 0 OR strpos(lower(app.repository_url), ${needle}) > 0
      OR app.id = ${search} OR app.slug = ${needle}
      OR EXISTS (SELECT 1 FROM domain WHERE domain.app_id = app.id AND strpos(domain.host, ${needle}) > 0
                   AND ${isReached(reach, routed)}))`);
  }
  return conditions;
}

/** Returns joins to a row of `app`: the placement in which it is shown, its primary server and its last deployment. */
function joinsOf(filter: AppFilter): Prisma.Sql {
  return Prisma.sql`
    CROSS JOIN LATERAL (
      SELECT * FROM placement WHERE placement.app_id = app.id AND ${isShown(filter)}
      ORDER BY placement.is_primary DESC, placement.created_at, placement.id LIMIT 1
    ) AS placement
    CROSS JOIN LATERAL (
      SELECT * FROM placement_server WHERE placement_server.placement_id = placement.id ORDER BY position LIMIT 1
    ) AS primary_server
    JOIN server ON server.id = primary_server.server_id
    LEFT JOIN LATERAL (
      SELECT * FROM deployment WHERE deployment.app_id = app.id AND deployment.environment_id = placement.environment_id
      ORDER BY deployment.queued_at DESC, deployment.id DESC LIMIT 1
    ) AS last ON true`;
}

/**
 * Lateral join for a query with `placement` and `placement_server`: `copies.wanted` and `copies.working` on that server. With an autoscaler, the minimum is
 * wanted. A sleeping copy counts as working, because a request wakes it.
 */
export const copiesOnServer = Prisma.sql`LATERAL (
  SELECT greatest(1, coalesce((
           SELECT (config.settings -> 'autoscaling' ->> 'instancesMin')::int FROM app_config AS config
           WHERE config.app_id = placement.app_id AND config.environment_id = placement.environment_id
           ORDER BY config.number DESC LIMIT 1
         ), placement.instances)) AS wanted,
         (SELECT count(*)::int FROM instance
          WHERE instance.app_id = placement.app_id AND instance.environment_id = placement.environment_id
            AND instance.server_id = placement_server.server_id AND instance.release_id = placement_server.live_release_id
            AND instance.process = 'web' AND instance.state IN ('healthy', 'asleep')) AS working
) AS copies`;

/** Servers and copies of an app in the placement in which it is shown. */
const serversAndCopies = Prisma.sql`
  ARRAY(SELECT server_id FROM placement_server WHERE placement_server.placement_id = placement.id) AS "serverIds",
  (SELECT coalesce(json_agg(copies), '[]') FROM placement_server CROSS JOIN ${copiesOnServer}
   WHERE placement_server.placement_id = placement.id AND placement_server.live_release_id IS NOT NULL) AS "copies"`;

/** Facts of an app by which lists sort and filter, for all apps at once. */
export interface AppFacts {
  readonly id: string;
  readonly name: string;
  readonly environmentId: string;
  readonly serverIds: readonly string[];
  readonly status: AppStatus;
  readonly deployedAt: Date | null;
}

/** Returns the facts of every app that matches, by name. */
export async function loadAppFacts(ctx: Ctx, filter: AppFilter): Promise<AppFacts[]> {
  const now = ctx.clock.now();
  const rows = await ctx.tx.$queryRaw<(Omit<AppFacts, 'status'> & StatusRow)[]>`
    SELECT app.id, app.name, placement.environment_id AS "environmentId", last.queued_at AS "deployedAt",
           last.state AS "deploymentState", primary_server.live_release_id AS "releaseId",
           server.connected_gateway AS "connectedGateway", server.last_seen_at AS "lastSeenAt", ${serversAndCopies}
    FROM app ${joinsOf(filter)}
    WHERE ${Prisma.join(conditionsOf(ctx, filter), ' AND ')}
    ORDER BY app.name, app.id`;
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    environmentId: row.environmentId,
    serverIds: row.serverIds,
    status: statusOf(row, now),
    deployedAt: row.deployedAt,
  }));
}

interface StatusRow {
  readonly releaseId: string | null;
  readonly deploymentState: string | null;
  readonly connectedGateway: string | null;
  readonly lastSeenAt: Date | null;
  readonly copies: Copies[];
}

function statusOf(row: StatusRow, now: Date): AppStatus {
  return appStatus({
    hasLiveRelease: row.releaseId !== null,
    serverConnected: isConnected(row, now),
    lastDeploymentState: row.deploymentState,
    copies: row.copies,
  });
}

async function queryApps(ctx: Ctx, filter: AppQuery): Promise<AppRow[]> {
  const conditions = conditionsOf(ctx, filter);
  const { direction, beyond } = directions[filter.order === 'name_descending' ? 'descending' : 'ascending'];
  if (filter.after)
    conditions.push(Prisma.sql`(app.name, app.id) ${beyond} (${filter.after.name}, ${filter.after.id})`);
  const where = Prisma.join(conditions, ' AND ');
  // The page is cut before anything is joined to it.
  const page =
    filter.order === 'latest'
      ? Prisma.sql`
        SELECT app.* FROM app CROSS JOIN LATERAL (
          SELECT max(queued_at) AS at FROM deployment WHERE deployment.app_id = app.id
        ) AS latest
        WHERE ${where} ORDER BY coalesce(latest.at, app.created_at) DESC, app.id LIMIT ${filter.limit}`
      : Prisma.sql`SELECT * FROM app WHERE ${where}
        ORDER BY app.name ${direction}, app.id ${direction} LIMIT ${filter.limit}`;
  const order =
    filter.order === 'latest'
      ? Prisma.sql`coalesce(last.queued_at, app.created_at) DESC, app.id`
      : Prisma.sql`app.name ${direction}, app.id ${direction}`;
  return ctx.tx.$queryRaw<AppRow[]>`
    WITH page AS (${page})
    SELECT app.id, app.name, app.slug, app.project_id AS "projectId", project.name AS "projectName",
           app.repository_url AS "repositoryUrl", app.root_folder AS "rootFolder", app.command,
           app.health_path AS "healthPath", app.created_at AS "createdAt", placement.branch,
           placement.instances AS "instancesWanted", primary_server.secrets_problem AS "secretsProblem", placement.environment_id AS "environmentId",
           placement.deploys_paused_at AS "deploysPausedAt",
           placement.is_primary AS "isPrimary", environment.name AS "environmentName", server.id AS "serverId", server.name AS "serverName",
           server.is_local AS "serverIsLocal", server.connected_gateway AS "connectedGateway",
           server.last_seen_at AS "lastSeenAt", release.id AS "releaseId", release.number AS "releaseNumber",
           release.commit_hash AS "releaseCommitHash", release.commit_subject AS "releaseCommitSubject",
           last.id AS "deploymentId", last.number AS "deploymentNumber", last.state AS "deploymentState",
           last.trigger AS "deploymentTrigger", last.commit_hash AS "deploymentCommitHash",
           last.commit_subject AS "deploymentCommitSubject", last.queued_at AS "deploymentQueuedAt",
           last.finished_at AS "deploymentFinishedAt",
           ARRAY(SELECT domain.host FROM domain WHERE domain.app_id = app.id AND domain.environment_id = placement.environment_id
                 ORDER BY domain.host LIKE '*%', domain.automatic, domain.created_at, domain.host, domain.path_prefix) AS "hosts",
           (SELECT domain.path_prefix FROM domain
            WHERE domain.app_id = app.id AND domain.environment_id = placement.environment_id
            ORDER BY domain.host LIKE '*%', domain.automatic, domain.created_at, domain.host, domain.path_prefix LIMIT 1) AS "firstPath",
           ${serversAndCopies}
    FROM page AS app
    ${joinsOf(filter)}
    JOIN project ON project.id = app.project_id
    JOIN environment ON environment.id = placement.environment_id
    LEFT JOIN release ON release.id = primary_server.live_release_id
    ORDER BY ${order}`;
}

const directions = {
  ascending: { direction: Prisma.sql`ASC`, beyond: Prisma.sql`>` },
  descending: { direction: Prisma.sql`DESC`, beyond: Prisma.sql`<` },
} as const;

function briefOf(row: AppRow): DeploymentBrief | null {
  if (row.deploymentId === null) return null;
  return {
    id: parseId('dep', row.deploymentId),
    number: row.deploymentNumber,
    state: deploymentStateSchema.parse(row.deploymentState),
    trigger: deploymentTriggerSchema.parse(row.deploymentTrigger),
    commitHash: row.deploymentCommitHash,
    commitSubject: row.deploymentCommitSubject,
    queuedAt: row.deploymentQueuedAt,
    finishedAt: row.deploymentFinishedAt,
  };
}
