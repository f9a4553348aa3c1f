// Reads runs for display. The database picks the best row of each; only its histogram is decoded.
import { decodeHistogram, quantileMs } from '@fairlead/contract/histogram';
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { type Ctx, countMax } from '../kernel/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import { redactPlan } from './load.ts';
import {
  type BenchmarkState,
  type BenchmarkSummary,
  benchmarkFactsSchema,
  benchmarkOutcomeSchema,
  benchmarkStateSchema,
  benchmarkTriggerSchema,
  runOriginSchema,
  storedPlanSchema,
} from './schema.ts';

interface RunRow {
  readonly id: string;
  readonly appId: string;
  readonly appName: string;
  readonly appSlug: string;
  readonly environmentId: string;
  readonly serverId: string | null;
  readonly serverName: string | null;
  readonly state: string;
  readonly plan: unknown;
  readonly planName: string | null;
  readonly trigger: string;
  readonly origin: unknown;
  readonly tags: string[];
  readonly note: string;
  readonly facts: unknown;
  readonly outcome: string;
  readonly rowsDone: number;
  readonly rowsTotal: number;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly aheadInQueue: number | null;
  readonly bestRequestsPerSecond: number | null;
  readonly bestLatency: Uint8Array | null;
}

export interface RunFilter {
  /** Limits the runs to those that may be seen, by the environment where the app ran. */
  readonly reach: Reach;
  readonly id?: string;
  readonly appId?: string | undefined;
  readonly serverId?: string | undefined;
  readonly state?: BenchmarkState | undefined;
  readonly tag?: string | undefined;
  readonly search?: string | undefined;
}

export interface RunQuery extends RunFilter {
  /** Id of the last run of the page before. */
  readonly after?: string | null | undefined;
  readonly limit: number;
}

/** Newest first. Plans come without queries, values of headers and bodies. */
export async function loadRuns(ctx: Ctx, filter: RunQuery): Promise<BenchmarkSummary[]> {
  const conditions = runConditions(ctx, filter);
  if (filter.after !== undefined && filter.after !== null) {
    conditions.push(Prisma.sql`(run.created_at, run.id) < (
      SELECT last.created_at, last.id FROM benchmark_run AS last
      WHERE last.id = ${filter.after} AND last.organization_id = ${ctx.organizationId})`);
  }
  const rows = await ctx.tx.$queryRaw<RunRow[]>`
    WITH page AS (
      SELECT * FROM benchmark_run AS run WHERE ${Prisma.join(conditions, ' AND ')}
      ORDER BY run.created_at DESC, run.id DESC LIMIT ${filter.limit}
    )
    SELECT page.id, page.app_id AS "appId", app.name AS "appName", app.slug AS "appSlug", page.environment_id AS "environmentId",
           page.server_id AS "serverId", server.name AS "serverName", page.state, page.plan,
           page.plan_name AS "planName", page.trigger, page.origin, page.tags, page.note, page.facts, page.outcome, page.rows_done AS "rowsDone", page.rows_total AS "rowsTotal",
           page.failure_code AS "failureCode", page.failure_message AS "failureMessage", page.created_at AS "createdAt",
           page.started_at AS "startedAt", page.finished_at AS "finishedAt",
           CASE WHEN page.state = 'queued' THEN (
             SELECT count(*)::int FROM benchmark_run AS other
             WHERE other.organization_id = page.organization_id AND (other.server_id = page.server_id OR EXISTS (
                 SELECT 1 FROM benchmark_run_server AS theirs
                 WHERE theirs.run_id = other.id AND theirs.server_id = page.server_id
               ) OR EXISTS (
                 SELECT 1 FROM benchmark_run_server AS ours
                 WHERE ours.run_id = page.id AND (ours.server_id = other.server_id OR EXISTS (
                   SELECT 1 FROM benchmark_run_server AS theirs
                   WHERE theirs.run_id = other.id AND theirs.server_id = ours.server_id))
               ))
               AND other.state IN ('queued', 'running') AND (other.created_at, other.id) < (page.created_at, page.id)
           ) END AS "aheadInQueue",
           best.rate AS "bestRequestsPerSecond", best.latency AS "bestLatency"
    FROM page
    JOIN app ON app.id = page.app_id
    LEFT JOIN server ON server.id = page.server_id
    LEFT JOIN LATERAL (
      SELECT requests * 1000.0::float8 / duration_ms AS rate, latency FROM benchmark_row
      WHERE benchmark_row.run_id = page.id AND benchmark_row.target = 'proxy' AND benchmark_row.duration_ms > 0
      ORDER BY 1 DESC LIMIT 1
    ) AS best ON true
    ORDER BY page.created_at DESC, page.id DESC`;
  return rows.map(({ bestLatency, ...row }) => ({
    ...row,
    id: parseId('run', row.id),
    appId: parseId('app', row.appId),
    environmentId: parseId('env', row.environmentId),
    serverId: row.serverId === null ? null : parseId('srv', row.serverId),
    origin: runOriginSchema.nullable().parse(row.origin),
    state: benchmarkStateSchema.parse(row.state),
    trigger: benchmarkTriggerSchema.parse(row.trigger),
    plan: redactPlan(storedPlanSchema.parse(row.plan)),
    facts: benchmarkFactsSchema.nullable().parse(row.facts),
    outcome: benchmarkOutcomeSchema.parse(row.outcome),
    bestP99Ms: bestLatency === null ? null : quantileMs(decodeHistogram(bestLatency), 0.99),
  }));
}

export async function countRuns(ctx: Ctx, filter: RunFilter): Promise<number> {
  const [row] = await ctx.tx.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT 1 FROM benchmark_run AS run WHERE ${Prisma.join(runConditions(ctx, filter), ' AND ')} LIMIT ${countMax}
    ) AS matching`;
  return row?.count ?? 0;
}

const tagsOffered = 100;

/** Returns tags of runs, those of the newest runs first. */
export async function loadTags(ctx: Ctx, filter: RunFilter): Promise<string[]> {
  const rows = await ctx.tx.$queryRaw<{ tag: string }[]>`
    SELECT tag FROM benchmark_run AS run CROSS JOIN LATERAL unnest(run.tags) AS tag
    WHERE ${Prisma.join(runConditions(ctx, filter), ' AND ')}
    GROUP BY tag ORDER BY max(run.created_at) DESC, tag LIMIT ${tagsOffered}`;
  return rows.map(({ tag }) => tag);
}

function runConditions({ organizationId }: Ctx, filter: RunFilter): Prisma.Sql[] {
  const { reach, id, appId, serverId, state, tag, search } = filter;
  const conditions = [Prisma.sql`run.organization_id = ${organizationId}`];
  if (!reach.everywhere) {
    const projectId = Prisma.sql`(SELECT project_id FROM environment WHERE environment.id = run.environment_id)`;
    conditions.push(isReached(reach, { projectId, environmentId: Prisma.sql`run.environment_id` }));
  }
  if (id !== undefined) conditions.push(Prisma.sql`run.id = ${id}`);
  if (appId !== undefined) conditions.push(Prisma.sql`run.app_id = ${appId}`);
  if (serverId !== undefined) conditions.push(Prisma.sql`run.server_id = ${serverId}`);
  if (state !== undefined) conditions.push(Prisma.sql`run.state = ${state}`);
  if (tag !== undefined) conditions.push(Prisma.sql`${tag} = ANY(run.tags)`);
  if (search !== undefined && search !== '') conditions.push(matches(organizationId, search));
  return conditions;
}

function matches(organizationId: string, search: string): Prisma.Sql {
  const number = /^#(\d{1,9})$/.exec(search)?.[1];
  if (number !== undefined) return Prisma.sql`run.facts #>> '{release,number}' = ${number}`;
  const needle = search.toLowerCase();
  const has = (text: Prisma.Sql) => Prisma.sql`strpos(lower(${text}), ${needle}) > 0`;
  const named = (table: Prisma.Sql) => Prisma.sql`
    SELECT named.id FROM ${table} AS named WHERE named.organization_id = ${organizationId} AND ${has(Prisma.sql`named.name`)}`;
  return Prisma.sql`(${has(Prisma.sql`run.plan ->> 'host'`)} OR ${has(Prisma.sql`run.note`)}
    OR ${has(Prisma.sql`run.plan_name`)} OR starts_with(run.facts #>> '{release,commitHash}', ${needle})
    OR EXISTS (SELECT 1 FROM unnest(run.tags) AS tag WHERE ${has(Prisma.sql`tag`)})
    OR run.app_id IN (${named(Prisma.sql`app`)}) OR run.server_id IN (${named(Prisma.sql`server`)}))`;
}
