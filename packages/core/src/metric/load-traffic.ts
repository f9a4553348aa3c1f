// Loads the figures that lists show of many apps at once, in a fixed number of queries.
import { decodeHistogram, mergeHistograms, quantileMs } from '@fairlead/contract/histogram';
import type { Ctx } from '../kernel/index.ts';
import { segmentsOf } from './windows.ts';

/**
 * Location of an app's samples. An app on several servers is given once for each: they are added up, their histograms
 * merged.
 */
export interface TrafficTarget {
  readonly appId: string;
  readonly environmentId: string;
  readonly serverId: string;
}

/** Current figures of an app. */
export interface TrafficFigures {
  readonly requestsPerSecond: number;
  readonly errorsPerSecond: number;
  readonly p99Ms: number | null;
}

export interface Traffic extends TrafficFigures {
  /** Requests per second of the last 30 minutes, oldest first. */
  readonly sparkline: readonly number[];
}

const sparklineMinutes = 30;
const currentSeconds = 10;
const arrivalMs = 2000;
const quietMinutes = 5;

export const noTraffic: Traffic = {
  requestsPerSecond: 0,
  errorsPerSecond: 0,
  p99Ms: null,
  sparkline: new Array<number>(sparklineMinutes).fill(0),
};

interface MinuteRow {
  readonly appId: string;
  readonly minute: number;
  readonly requests: number;
}

interface LatencyRow {
  readonly appId: string;
  readonly requests: bigint;
  readonly errors: bigint;
  readonly latency: Uint8Array;
}

/** Returns traffic for each app id; apps without a sample are missing. */
export async function loadTraffic(ctx: Ctx, targets: readonly TrafficTarget[]): Promise<Map<string, Traffic>> {
  if (targets.length === 0) return new Map();
  const now = ctx.clock.now();
  const lines = await loadSparklines(ctx, targets, now);
  const figures = await loadFigures(ctx, targets);
  const found = new Map<string, Traffic>();
  for (const appId of new Set(targets.map((target) => target.appId))) {
    const sparkline = lines.get(appId);
    const current = figures.get(appId);
    if (sparkline === undefined && current === undefined) continue;
    found.set(appId, { ...noTraffic, ...current, ...(sparkline === undefined ? {} : { sparkline }) });
  }
  return found;
}

/** Returns the current figures for each app id; apps without a request in the last minutes are missing. */
export async function loadFigures(ctx: Ctx, targets: readonly TrafficTarget[]): Promise<Map<string, TrafficFigures>> {
  const { current, recent } = await loadLatencies(ctx, targets, ctx.clock.now());
  const found = new Map<string, TrafficFigures>();
  for (const appId of new Set([...current.keys(), ...recent.keys()])) {
    const rows = current.get(appId) ?? [];
    const answered = rows.some(({ requests }) => requests > 0n) ? rows : (recent.get(appId) ?? []);
    found.set(appId, {
      requestsPerSecond: rows.reduce((total, row) => total + Number(row.requests), 0) / currentSeconds,
      errorsPerSecond: rows.reduce((total, row) => total + Number(row.errors), 0) / currentSeconds,
      p99Ms: quantileMs(mergeHistograms(answered.map(({ latency }) => decodeHistogram(latency))), 0.99),
    });
  }
  return found;
}

/** Minutes that are rolled up, then seconds for the last few that are not. */
async function loadSparklines(
  ctx: Ctx,
  targets: readonly TrafficTarget[],
  now: Date,
): Promise<Map<string, readonly number[]>> {
  const currentMinuteMs = Math.floor(now.getTime() / 60_000) * 60_000;
  const fromMs = currentMinuteMs - (sparklineMinutes - 1) * 60_000;
  const [minutes, seconds] = segmentsOf('1m', fromMs, now.getTime(), now);
  if (minutes === undefined || seconds === undefined) return new Map();
  const { apps, environments, servers } = columnsOf(targets);
  // The whole key is given to each look-up, so that it reads one stretch of the index.
  const rows = await ctx.tx.$queryRaw<MinuteRow[]>`
    SELECT wanted.app_id AS "appId", floor(extract(epoch FROM sample.at - ${new Date(fromMs)}::timestamptz) / 60)::int AS "minute",
           sum(sample.requests)::float8 AS "requests"
    FROM unnest(${apps}::text[], ${environments}::text[], ${servers}::text[]) AS wanted (app_id, environment_id, server_id)
    CROSS JOIN LATERAL (
      SELECT at, requests FROM metric.app_1m AS m
      WHERE m.app_id = wanted.app_id AND m.environment_id = wanted.environment_id AND m.server_id = wanted.server_id
        AND m.at >= ${minutes.from} AND m.at < ${minutes.until}
      UNION ALL
      SELECT at, requests FROM metric.app_1s AS s
      WHERE s.app_id = wanted.app_id AND s.environment_id = wanted.environment_id AND s.server_id = wanted.server_id
        AND s.at >= ${seconds.from} AND s.at < ${seconds.until}
    ) AS sample
    GROUP BY 1, 2`;
  const lines = new Map<string, number[]>();
  for (const row of rows) {
    const line = lines.get(row.appId) ?? [...noTraffic.sparkline];
    const running = row.minute === sparklineMinutes - 1;
    const elapsed = running ? Math.max(1, (now.getTime() - currentMinuteMs) / 1000) : 60;
    if (row.minute >= 0 && row.minute < sparklineMinutes) line[row.minute] = row.requests / elapsed;
    lines.set(row.appId, line);
  }
  return lines;
}

/** The last seconds give the current latency; if they are quiet, the last minutes do. */
async function loadLatencies(ctx: Ctx, targets: readonly TrafficTarget[], now: Date) {
  const { apps, environments, servers } = columnsOf(targets);
  const until = new Date(now.getTime() - arrivalMs);
  const from = new Date(until.getTime() - currentSeconds * 1000);
  const minutesFrom = new Date(now.getTime() - quietMinutes * 60_000);
  const rows = await ctx.tx.$queryRaw<(LatencyRow & { readonly current: boolean })[]>`
    SELECT wanted.app_id AS "appId", sample.requests, sample.errors, sample.latency, sample.current
    FROM unnest(${apps}::text[], ${environments}::text[], ${servers}::text[]) AS wanted (app_id, environment_id, server_id)
    CROSS JOIN LATERAL (
      SELECT requests, errors, latency, true AS current FROM metric.app_1s AS s
      WHERE s.app_id = wanted.app_id AND s.environment_id = wanted.environment_id AND s.server_id = wanted.server_id
        AND s.at >= ${from} AND s.at < ${until}
      UNION ALL
      SELECT requests, errors, latency, false AS current FROM metric.app_1m AS m
      WHERE m.app_id = wanted.app_id AND m.environment_id = wanted.environment_id AND m.server_id = wanted.server_id
        AND m.at >= ${minutesFrom} AND m.at < ${until}
    ) AS sample
    WHERE sample.requests > 0`;
  const byApp = (current: boolean): Map<string, LatencyRow[]> =>
    Map.groupBy(
      rows.filter((row) => row.current === current),
      (row) => row.appId,
    );
  return { current: byApp(true), recent: byApp(false) };
}

function columnsOf(targets: readonly TrafficTarget[]) {
  return {
    apps: targets.map(({ appId }) => appId),
    environments: targets.map(({ environmentId }) => environmentId),
    servers: targets.map(({ serverId }) => serverId),
  };
}
