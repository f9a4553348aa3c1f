// Reads domains with their routes, in one query.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { hostConflictSchema, hostStateSchema } from '../host/index.ts';
import { type Ctx, isPublicHost } from '../kernel/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import { type AppLinks, domainUrl } from './domain-url.ts';
import { hasPolicy } from './rules.ts';
import type { DomainView } from './schema.ts';

interface DomainRow {
  readonly id: string;
  readonly host: string;
  readonly pathPrefix: string;
  readonly createdAt: Date;
  readonly appId: string;
  readonly appName: string;
  readonly appSlug: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly environmentName: string;
  readonly isEnvironmentProtected: boolean;
  readonly serverName: string | null;
  readonly isLocal: boolean | null;
  readonly policy: unknown;
  readonly hostState: string | null;
  readonly hostConflict: string | null;
}

export interface DomainFilter {
  /** Limits the domains to those that may be seen, by their environment. */
  readonly reach: Reach;
  readonly id?: string;
  readonly search?: string | undefined;
}

export interface DomainQuery extends DomainFilter {
  /** Label of the last row of the page before. */
  readonly after?: string | null | undefined;
  readonly limit: number;
}

/** As domainLabel has it: what they are listed, searched and paged by. */
const label = Prisma.sql`(domain.host || CASE domain.path_prefix WHEN '/' THEN '' ELSE domain.path_prefix END) COLLATE "C"`;

export async function countDomains(ctx: Ctx, filter: DomainFilter): Promise<number> {
  const [row] = await ctx.tx.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM domain
    JOIN app ON app.id = domain.app_id
    JOIN environment ON environment.id = domain.environment_id
    WHERE ${Prisma.join(conditionsOf(ctx, filter), ' AND ')}`;
  return row?.count ?? 0;
}

function conditionsOf(ctx: Ctx, filter: DomainFilter): Prisma.Sql[] {
  const conditions = [Prisma.sql`domain.organization_id = ${ctx.organizationId}`];
  const place = { projectId: Prisma.sql`environment.project_id`, environmentId: Prisma.sql`environment.id` };
  conditions.push(isReached(filter.reach, place));
  if (filter.id !== undefined) conditions.push(Prisma.sql`domain.id = ${filter.id}`);
  // Names of previews come and go; a search finds them.
  if (filter.id === undefined && !filter.search) conditions.push(Prisma.sql`environment.kind = 'standard'`);
  if (filter.search !== undefined && filter.search !== '') {
    const needle = filter.search.toLowerCase();
    conditions.push(Prisma.sql`(strpos(${label}, ${needle}) > 0 OR strpos(lower(app.name), ${needle}) > 0)`);
  }
  return conditions;
}

export async function loadDomains(ctx: Ctx, filter: DomainQuery, links: AppLinks): Promise<DomainView[]> {
  const conditions = conditionsOf(ctx, filter);
  if (filter.after !== undefined && filter.after !== null) conditions.push(Prisma.sql`${label} > ${filter.after}`);
  const rows = await ctx.tx.$queryRaw<DomainRow[]>`
    SELECT domain.id, domain.host, domain.path_prefix AS "pathPrefix", domain.created_at AS "createdAt", app.id AS "appId", app.name AS "appName",
           app.slug AS "appSlug", environment.project_id AS "projectId", environment.id AS "environmentId",
           environment.name AS "environmentName", environment.protected AS "isEnvironmentProtected", server.name AS "serverName",
           server.is_local AS "isLocal",
           domain.policy, domain_host.state AS "hostState", domain_host.conflict AS "hostConflict"
    FROM domain
    JOIN app ON app.id = domain.app_id
    JOIN environment ON environment.id = domain.environment_id
    LEFT JOIN domain_host ON domain_host.organization_id = domain.organization_id AND domain_host.host = domain.host
    LEFT JOIN LATERAL (
      SELECT server_id FROM placement JOIN placement_server ON placement_server.placement_id = placement.id
      WHERE placement.app_id = domain.app_id AND placement.environment_id = domain.environment_id
      ORDER BY placement_server.position LIMIT 1
    ) AS primary_server ON true
    LEFT JOIN server ON server.id = primary_server.server_id
    WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY ${label} LIMIT ${filter.limit}`;
  return rows.map(({ isLocal, policy, ...row }) => ({
    ...row,
    hasPolicy: hasPolicy(policy),
    hostState: isPublicHost(row.host) ? hostStateSchema.catch('pending').parse(row.hostState) : null,
    hostConflict: hostConflictSchema.nullable().catch(null).parse(row.hostConflict),
    id: parseId('dom', row.id),
    appId: parseId('app', row.appId),
    projectId: parseId('prj', row.projectId),
    environmentId: parseId('env', row.environmentId),
    url: domainUrl(row, isLocal === true, links),
  }));
}
