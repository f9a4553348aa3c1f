// Sums the requests of an organization over the last day and the day before it, in one query.
import { Prisma } from '@fairlead/db';
import type { Ctx } from '../kernel/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import { segmentsOf } from './windows.ts';

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** Null: no sample arrived in that time. */
export interface DayTraffic {
  readonly requests: number | null;
  readonly errors: number | null;
}

interface Row {
  readonly current: boolean;
  readonly requests: number | null;
  readonly errors: number | null;
}

/** Returns the traffic of the last 24 hours and of the 24 hours before, of environments in reach. */
export async function sumTraffic(ctx: Ctx, reach: Reach): Promise<{ current: DayTraffic; before: DayTraffic }> {
  const now = ctx.clock.now();
  const from = Math.floor(now.getTime() / 60_000) * 60_000 - dayMs;
  const environments = reach.everywhere
    ? Prisma.empty
    : Prisma.sql`AND sample.environment_id IN (SELECT environment.id FROM environment
        WHERE environment.organization_id = ${ctx.organizationId} AND ${isReached(reach, {
          projectId: Prisma.sql`environment.project_id`,
          environmentId: Prisma.sql`environment.id`,
        })})`;
  const parts = [
    ...cutDay(from - dayMs, from).map((part) => ({ ...part, current: false })),
    ...cutDay(from, now.getTime())
      .flatMap(({ resolution, from: start, until }) => segmentsOf(resolution, start.getTime(), until.getTime(), now))
      .map((part) => ({ ...part, current: true })),
  ];
  const selects = parts.map(({ resolution, current, from: start, until }) =>
    resolution === '1s'
      ? secondsSql(ctx, environments, { current, from: start, until })
      : Prisma.sql`
        SELECT ${current}::boolean AS current, sum(sample.requests)::float8 AS requests, sum(sample.errors)::float8 AS errors
        FROM ${Prisma.raw(`metric.app_${resolution}`)} AS sample
        WHERE sample.organization_id = ${ctx.organizationId} AND sample.at >= ${start} AND sample.at < ${until} ${environments}`,
  );
  const rows = await ctx.tx.$queryRaw<Row[]>`
    SELECT current, sum(requests) AS requests, sum(errors) AS errors
    FROM (${Prisma.join(selects, ' UNION ALL ')}) AS part GROUP BY current`;
  const of = (wanted: boolean): DayTraffic => {
    const row = rows.find(({ current }) => current === wanted);
    return { requests: row?.requests ?? null, errors: row?.errors ?? null };
  };
  return { current: of(true), before: of(false) };
}

/** Cuts a time that begins and ends within hours into minutes of its edges and whole hours between them. */
function cutDay(from: number, until: number) {
  const first = Math.ceil(from / hourMs) * hourMs;
  const last = Math.floor(until / hourMs) * hourMs;
  return [
    { resolution: '1m' as const, from: new Date(from), until: new Date(first) },
    { resolution: '1h' as const, from: new Date(first), until: new Date(last) },
    { resolution: '1m' as const, from: new Date(last), until: new Date(until) },
  ].filter((part) => part.from < part.until);
}

/** Reads the seconds by the whole key of each app: the table has no index by organization. */
function secondsSql(
  ctx: Ctx,
  environments: Prisma.Sql,
  { current, from, until }: { readonly current: boolean; readonly from: Date; readonly until: Date },
): Prisma.Sql {
  return Prisma.sql`
    SELECT ${current}::boolean AS current, sum(sample.requests)::float8 AS requests, sum(sample.errors)::float8 AS errors
    FROM placement
    JOIN placement_server ON placement_server.placement_id = placement.id
    CROSS JOIN LATERAL (
      SELECT s.environment_id, s.requests, s.errors FROM metric.app_1s AS s
      WHERE s.app_id = placement.app_id AND s.environment_id = placement.environment_id
        AND s.server_id = placement_server.server_id AND s.at >= ${from} AND s.at < ${until}
    ) AS sample
    WHERE placement.organization_id = ${ctx.organizationId} ${environments}`;
}
