// Reads runs for display. The database picks the best row of each; only its histogram is decoded.
import { decodeHistogram, quantileMs } from '@fairlead/contract/histogram';
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { Ctx } from '../kernel/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import {
  type BenchmarkSummary,
  benchmarkFactsSchema,
  benchmarkOutcomeSchema,
  benchmarkStateSchema,
  storedPlanSchema,
} from './schema.ts';

interface RunRow {
  readonly id: string;
  readonly appId: string;
  readonly appName: string;
  readonly appSlug: string;
  readonly serverId: string;
  readonly serverName: string;
  readonly state: string;
  readonly plan: unknown;
  readonly facts: unknown;
  readonly outcome: string;
  readonly rowsDone: number;
  readonly rowsTotal: number;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly bestRequestsPerSecond: number | null;
  readonly bestLatency: Uint8Array | null;
}

export interface RunFilter {
  /** Limits the runs to those that may be seen, by the environment where the app ran. */
  readonly reach: Reach;
  readonly id?: string;
  readonly appId?: string | undefined;
  /** Id of the last run of the page before. */
  readonly after?: string | null | undefined;
  readonly limit: number;
}

/** Newest first. */
export async function loadRuns(ctx: Ctx, filter: RunFilter): Promise<BenchmarkSummary[]> {
  const { organizationId } = ctx;
  const conditions = [Prisma.sql`run.organization_id = ${organizationId}`];
  if (!filter.reach.everywhere) {
    const projectId = Prisma.sql`(SELECT project_id FROM environment WHERE environment.id = run.environment_id)`;
    conditions.push(isReached(filter.reach, { projectId, environmentId: Prisma.sql`run.environment_id` }));
  }
  if (filter.id !== undefined) conditions.push(Prisma.sql`run.id = ${filter.id}`);
  if (filter.appId !== undefined) conditions.push(Prisma.sql`run.app_id = ${filter.appId}`);
  if (filter.after !== undefined && filter.after !== null) {
    conditions.push(Prisma.sql`(run.created_at, run.id) < (
      SELECT last.created_at, last.id FROM benchmark_run AS last
      WHERE last.id = ${filter.after} AND last.organization_id = ${organizationId})`);
  }
  const rows = await ctx.tx.$queryRaw<RunRow[]>`
    WITH page AS (
      SELECT * FROM benchmark_run AS run WHERE ${Prisma.join(conditions, ' AND ')}
      ORDER BY run.created_at DESC, run.id DESC LIMIT ${filter.limit}
    )
    SELECT page.id, page.app_id AS "appId", app.name AS "appName", app.slug AS "appSlug", page.server_id AS "serverId",
           server.name AS "serverName", page.state, page.plan, page.facts, page.outcome, page.rows_done AS "rowsDone", page.rows_total AS "rowsTotal",
           page.failure_code AS "failureCode", page.failure_message AS "failureMessage", page.created_at AS "createdAt",
           page.started_at AS "startedAt", page.finished_at AS "finishedAt",
           best.rate AS "bestRequestsPerSecond", best.latency AS "bestLatency"
    FROM page
    JOIN app ON app.id = page.app_id
    JOIN server ON server.id = page.server_id
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
    serverId: parseId('srv', row.serverId),
    state: benchmarkStateSchema.parse(row.state),
    plan: storedPlanSchema.parse(row.plan),
    facts: benchmarkFactsSchema.nullable().parse(row.facts),
    outcome: benchmarkOutcomeSchema.parse(row.outcome),
    bestP99Ms: bestLatency === null ? null : quantileMs(decodeHistogram(bestLatency), 0.99),
  }));
}
