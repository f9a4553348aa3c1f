// Loads the figures of the last half hour of many apps, in one query.
import { decodeHistogram, mergeHistograms, quantileMs } from '@fairlead/contract/histogram';
import type { Ctx } from '../kernel/index.ts';
import { segmentsOf } from './windows.ts';

const windowMs = 30 * 60_000;

export interface AppFigures {
  readonly requests: number;
  readonly errors: number;
  readonly p95Ms: number | null;
}

interface Row {
  readonly appId: string;
  readonly requests: number;
  readonly errors: number;
  readonly latencies: readonly Uint8Array[];
}

/** Returns figures for each app id, summed over its servers; apps without a request are missing. */
export async function loadAppFigures(
  ctx: Ctx,
  targets: readonly { readonly appId: string; readonly environmentId: string }[],
): Promise<Map<string, AppFigures>> {
  const now = ctx.clock.now();
  const [minutes, seconds] = segmentsOf('1m', now.getTime() - windowMs, now.getTime(), now);
  if (minutes === undefined || seconds === undefined || targets.length === 0) return new Map();
  const rows = await ctx.tx.$queryRaw<Row[]>`
    SELECT wanted.app_id AS "appId", sum(sample.requests)::float8 AS requests, sum(sample.errors)::float8 AS errors,
           array_agg(sample.latency) AS latencies
    FROM unnest(${targets.map(({ appId }) => appId)}::text[], ${targets.map((each) => each.environmentId)}::text[])
      AS wanted (app_id, environment_id)
    JOIN placement ON placement.app_id = wanted.app_id AND placement.environment_id = wanted.environment_id
    JOIN placement_server ON placement_server.placement_id = placement.id
    CROSS JOIN LATERAL (
      SELECT requests, errors, latency FROM metric.app_1m AS m
      WHERE m.app_id = wanted.app_id AND m.environment_id = wanted.environment_id
        AND m.server_id = placement_server.server_id AND m.at >= ${minutes.from} AND m.at < ${minutes.until}
      UNION ALL
      SELECT requests, errors, latency FROM metric.app_1s AS s
      WHERE s.app_id = wanted.app_id AND s.environment_id = wanted.environment_id
        AND s.server_id = placement_server.server_id AND s.at >= ${seconds.from} AND s.at < ${seconds.until}
    ) AS sample
    WHERE placement.organization_id = ${ctx.organizationId} AND sample.requests > 0
    GROUP BY 1`;
  return new Map(
    rows.map(({ appId, requests, errors, latencies }) => {
      const latency = mergeHistograms(latencies.map((bytes) => decodeHistogram(bytes)));
      return [appId, { requests, errors, p95Ms: quantileMs(latency, 0.95) }];
    }),
  );
}
