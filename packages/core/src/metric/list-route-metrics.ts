// Returns the table of an app's routes. Quantiles come from merged histograms, as an app's do.
import { decodeHistogram, mergeHistograms, quantileMs } from '@fairlead/contract/histogram';
import { Prisma } from '@fairlead/db';
import type { Ctx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import type { AppMetricInput, RouteMetric, RouteMetrics } from './schema.ts';
import { chartWindow, sumSegments } from './windows.ts';

interface SampleRow {
  readonly host: string;
  readonly pathPrefix: string;
  readonly requests: bigint;
  readonly errors: bigint;
  readonly clientErrors: bigint;
  readonly latency: Uint8Array;
}

const routesMax = 100;

/** Requests, errors and latency of each of an app's routes over a period, on all its servers. */
export async function listRouteMetrics(ctx: Ctx, input: AppMetricInput): Promise<RouteMetrics> {
  const { organizationId } = ctx;
  const { appId } = input;
  const { environmentId, servers } = await requirePlacement(ctx, input);
  const serverIds = servers.map(({ serverId }) => serverId);
  const now = ctx.clock.now();
  // The chart's own period, so that the routes add up to its totals.
  const window = chartWindow(input, now);
  const parts = sumSegments(window, now).map(
    (segment) => Prisma.sql`
      SELECT host, path_prefix, requests, errors, client_errors, latency
      FROM ${Prisma.raw(`metric.route_${segment.resolution}`)}
      WHERE app_id = ${appId} AND environment_id = ${environmentId} AND server_id = ANY(${[...serverIds]}::text[])
        AND organization_id = ${organizationId} AND at >= ${segment.from} AND at < ${segment.until}`,
  );
  const rows = await ctx.tx.$queryRaw<SampleRow[]>`
    WITH sample AS (${Prisma.join(parts, ' UNION ALL ')}),
      busiest AS (
        SELECT host, path_prefix FROM sample GROUP BY 1, 2 ORDER BY sum(requests) DESC, 1, 2 LIMIT ${routesMax}
      )
    SELECT host, path_prefix AS "pathPrefix", requests, errors, client_errors AS "clientErrors", latency
    FROM sample JOIN busiest USING (host, path_prefix)`;
  const groups = Map.groupBy(rows, (row) => `${row.host} ${row.pathPrefix}`);
  const routes = [...groups.values()].flatMap(toRoute).sort(byRequests);
  return { from: window.from, to: window.to, routes };
}

function toRoute(rows: readonly SampleRow[]): RouteMetric[] {
  const [first] = rows;
  if (first === undefined) return [];
  const latency = mergeHistograms(rows.map((row) => decodeHistogram(row.latency)));
  return [
    {
      host: first.host,
      pathPrefix: first.pathPrefix,
      requests: sum(rows, (row) => row.requests),
      errors: sum(rows, (row) => row.errors),
      clientErrors: sum(rows, (row) => row.clientErrors),
      p50Ms: quantileMs(latency, 0.5),
      p99Ms: quantileMs(latency, 0.99),
    },
  ];
}

function byRequests(one: RouteMetric, other: RouteMetric): number {
  return (
    other.requests - one.requests ||
    one.host.localeCompare(other.host) ||
    one.pathPrefix.localeCompare(other.pathPrefix)
  );
}

function sum(rows: readonly SampleRow[], pick: (row: SampleRow) => bigint): number {
  return rows.reduce((total, row) => total + Number(pick(row)), 0);
}
