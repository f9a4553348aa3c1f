// Rolls seconds up to minutes and minutes to hours. Due roll-ups are stored beside the samples, so late samples are
// included, and a second roll-up gives the same row.
import type { ScopedTx } from '@fairlead/db';
import { Prisma } from '@fairlead/db';
import { type SystemCtx, withSavepoint } from '../kernel/index.ts';
import { type AppMetricRow, mergeAppRows, mergeRouteRows, type RouteMetricRow } from './merge-samples.ts';

interface DueRow {
  readonly at: Date;
  readonly server_id: string;
  readonly organization_id: string;
}

interface Level {
  readonly resolution: '1m' | '1h';
  readonly from: '1s' | '1m';
  readonly lengthMs: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const levels: readonly Level[] = [
  { resolution: '1m', from: '1s', lengthMs: minuteMs },
  { resolution: '1h', from: '1m', lengthMs: hourMs },
];
// Seconds are still arriving right after the end of their minute.
const graceMs = 3_000;
// The running hour is kept fresh too, but not with every minute.
const freshenHourEveryMs = 10 * minuteMs;
// Bounds one transaction; what is left is due at the next run, or in the caller's next round.
const dueMax = 200;

/** Processes one batch of due roll-ups; returns true if there may be more. */
export async function rollUpMetrics(ctx: SystemCtx): Promise<boolean> {
  const now = ctx.clock.now();
  let more = false;
  for (const level of levels) {
    const due = await takeDue(ctx.tx, level, dueBefore(level, now));
    more ||= due.length === dueMax;
    for (const [at, group] of Map.groupBy(due, (row) => row.at.getTime())) {
      await rollUpApart(
        ctx,
        level,
        new Date(at),
        group.map((row) => row.server_id),
      );
      if (level.resolution === '1m') await markHour(ctx.tx, group, at);
    }
  }
  return more;
}

function dueBefore(level: Level, now: Date): Date {
  const nowMs = now.getTime();
  const freshen = level.resolution === '1h' && Math.floor(nowMs / minuteMs) % (freshenHourEveryMs / minuteMs) === 0;
  return new Date(freshen ? nowMs : nowMs - level.lengthMs - graceMs);
}

async function takeDue(tx: ScopedTx, level: Level, before: Date): Promise<DueRow[]> {
  // SKIP LOCKED: a mark that is being written now belongs to samples that are not visible yet.
  return tx.$queryRaw<DueRow[]>`
    DELETE FROM metric.roll_up_due
    WHERE (resolution, at, server_id) IN (
      SELECT resolution, at, server_id FROM metric.roll_up_due
      WHERE resolution = ${level.resolution} AND at <= ${before}
      ORDER BY at, server_id LIMIT ${dueMax} FOR UPDATE SKIP LOCKED
    )
    RETURNING at, server_id, organization_id`;
}

async function markHour(tx: ScopedTx, minutes: readonly DueRow[], atMs: number): Promise<void> {
  const hour = new Date(Math.floor(atMs / hourMs) * hourMs);
  await tx.$executeRaw`
    INSERT INTO metric.roll_up_due (resolution, at, server_id, organization_id)
    SELECT '1h', ${hour}, server_id, organization_id
    FROM unnest(${minutes.map((row) => row.server_id)}::text[], ${minutes.map((row) => row.organization_id)}::text[])
      AS minute (server_id, organization_id)
    ON CONFLICT (resolution, at, server_id) DO UPDATE SET organization_id = excluded.organization_id`;
}

/**
 * Rolls up all servers together, or one by one if that fails: rows of one server must never hold up another
 * organization's. Servers that fail alone too are dropped, because they would fail for ever.
 */
async function rollUpApart(ctx: SystemCtx, level: Level, at: Date, serverIds: readonly string[]): Promise<void> {
  const together = await withSavepoint(ctx.tx, () => rollUp(ctx.tx, level, at, serverIds));
  if (together.done) return;
  for (const serverId of serverIds) {
    const alone = await withSavepoint(ctx.tx, () => rollUp(ctx.tx, level, at, [serverId]));
    if (alone.done) continue;
    const fields = { err: alone.error, serverId, at, resolution: level.resolution };
    ctx.log.error(fields, "a server's metrics could not be rolled up and are left out");
  }
}

async function rollUp(tx: ScopedTx, level: Level, at: Date, serverIds: readonly string[]): Promise<void> {
  const until = new Date(at.getTime() + level.lengthMs);
  const source = (table: string) => Prisma.raw(`metric.${table}_${level.from}`);
  const target = (table: string) => Prisma.raw(`metric.${table}_${level.resolution}`);

  await tx.$executeRaw`
    INSERT INTO ${target('server')} (organization_id, server_id, at, seconds, cpu_millis_avg, memory_used_bytes_max,
      memory_total_bytes, disk_used_bytes_max, disk_total_bytes, network_received_bytes, network_sent_bytes,
      load1_millis_avg, agent_cpu_millis_avg, agent_memory_bytes_max, open_connections_max)
    SELECT min(organization_id), server_id, ${at}, sum(seconds), round(sum(cpu_millis_avg::numeric * seconds) / sum(seconds)),
      max(memory_used_bytes_max), max(memory_total_bytes), max(disk_used_bytes_max), max(disk_total_bytes),
      sum(network_received_bytes), sum(network_sent_bytes), round(sum(load1_millis_avg::numeric * seconds) / sum(seconds)),
      round(sum(agent_cpu_millis_avg::numeric * seconds) / sum(seconds)), max(agent_memory_bytes_max), max(open_connections_max)
    FROM ${source('server')}
    WHERE server_id = ANY (${serverIds}::text[]) AND at >= ${at} AND at < ${until}
    GROUP BY server_id
    ON CONFLICT (server_id, at) DO UPDATE SET seconds = excluded.seconds, cpu_millis_avg = excluded.cpu_millis_avg,
      memory_used_bytes_max = excluded.memory_used_bytes_max, memory_total_bytes = excluded.memory_total_bytes,
      disk_used_bytes_max = excluded.disk_used_bytes_max, disk_total_bytes = excluded.disk_total_bytes,
      network_received_bytes = excluded.network_received_bytes, network_sent_bytes = excluded.network_sent_bytes,
      load1_millis_avg = excluded.load1_millis_avg, agent_cpu_millis_avg = excluded.agent_cpu_millis_avg,
      agent_memory_bytes_max = excluded.agent_memory_bytes_max, open_connections_max = excluded.open_connections_max`;

  // Joins the placements, because rows are found by app: a server's id alone would read the whole day.
  const samples = await tx.$queryRaw<AppMetricRow[]>`
    SELECT sample.organization_id, sample.app_id, sample.environment_id, sample.server_id, sample.seconds, sample.requests,
      sample.errors, sample.client_errors, sample.latency, sample.bytes_received, sample.bytes_sent, sample.cpu_millis_avg,
      sample.memory_bytes_max, sample.in_flight_max
    FROM placement_server JOIN placement ON placement.id = placement_server.placement_id
    JOIN ${source('app')} sample ON sample.app_id = placement.app_id AND sample.environment_id = placement.environment_id
      AND sample.server_id = placement_server.server_id AND sample.at >= ${at} AND sample.at < ${until}
    WHERE placement_server.server_id = ANY (${serverIds}::text[])`;
  await upsertApps(tx, target('app'), at, mergeAppRows(samples));

  const routes = await tx.$queryRaw<RouteMetricRow[]>`
    SELECT sample.organization_id, sample.app_id, sample.environment_id, sample.server_id, sample.host, sample.path_prefix,
      sample.seconds, sample.requests, sample.errors, sample.client_errors, sample.latency
    FROM placement_server JOIN placement ON placement.id = placement_server.placement_id
    JOIN ${source('route')} sample ON sample.app_id = placement.app_id AND sample.environment_id = placement.environment_id
      AND sample.server_id = placement_server.server_id AND sample.at >= ${at} AND sample.at < ${until}
    WHERE placement_server.server_id = ANY (${serverIds}::text[])`;
  await upsertRoutes(tx, target('route'), at, mergeRouteRows(routes));
}

async function upsertRoutes(
  tx: ScopedTx,
  target: Prisma.Sql,
  at: Date,
  rows: readonly RouteMetricRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.$executeRaw`
    INSERT INTO ${target} (organization_id, app_id, environment_id, server_id, host, path_prefix, at, seconds, requests,
      errors, client_errors, latency)
    SELECT organization_id, app_id, environment_id, server_id, host, path_prefix, ${at}, seconds, requests, errors,
      client_errors, decode(latency, 'hex')
    FROM unnest(
      ${rows.map((row) => row.organization_id)}::text[], ${rows.map((row) => row.app_id)}::text[],
      ${rows.map((row) => row.environment_id)}::text[], ${rows.map((row) => row.server_id)}::text[],
      ${rows.map((row) => row.host)}::text[], ${rows.map((row) => row.path_prefix)}::text[],
      ${rows.map((row) => row.seconds)}::int[], ${rows.map((row) => String(row.requests))}::bigint[],
      ${rows.map((row) => String(row.errors))}::bigint[], ${rows.map((row) => String(row.client_errors))}::bigint[],
      ${rows.map((row) => Buffer.from(row.latency).toString('hex'))}::text[]
    ) AS sample (organization_id, app_id, environment_id, server_id, host, path_prefix, seconds, requests, errors,
      client_errors, latency)
    ON CONFLICT (app_id, environment_id, server_id, at, host, path_prefix) DO UPDATE SET seconds = excluded.seconds,
      requests = excluded.requests, errors = excluded.errors, client_errors = excluded.client_errors,
      latency = excluded.latency`;
}

async function upsertApps(tx: ScopedTx, target: Prisma.Sql, at: Date, rows: readonly AppMetricRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.$executeRaw`
    INSERT INTO ${target} (organization_id, app_id, environment_id, server_id, at, seconds, requests, errors, client_errors,
      latency, bytes_received, bytes_sent, cpu_millis_avg, memory_bytes_max, in_flight_max)
    SELECT organization_id, app_id, environment_id, server_id, ${at}, seconds, requests, errors, client_errors,
      decode(latency, 'hex'), bytes_received, bytes_sent, cpu_millis, memory_bytes, in_flight
    FROM unnest(
      ${rows.map((row) => row.organization_id)}::text[], ${rows.map((row) => row.app_id)}::text[],
      ${rows.map((row) => row.environment_id)}::text[], ${rows.map((row) => row.server_id)}::text[],
      ${rows.map((row) => row.seconds)}::int[], ${rows.map((row) => String(row.requests))}::bigint[],
      ${rows.map((row) => String(row.errors))}::bigint[], ${rows.map((row) => String(row.client_errors))}::bigint[],
      ${rows.map((row) => Buffer.from(row.latency).toString('hex'))}::text[],
      ${rows.map((row) => String(row.bytes_received))}::bigint[], ${rows.map((row) => String(row.bytes_sent))}::bigint[],
      ${rows.map((row) => row.cpu_millis_avg)}::int[], ${rows.map((row) => String(row.memory_bytes_max))}::bigint[],
      ${rows.map((row) => row.in_flight_max)}::int[]
    ) AS sample (organization_id, app_id, environment_id, server_id, seconds, requests, errors, client_errors, latency,
      bytes_received, bytes_sent, cpu_millis, memory_bytes, in_flight)
    ON CONFLICT (app_id, environment_id, server_id, at) DO UPDATE SET seconds = excluded.seconds,
      requests = excluded.requests, errors = excluded.errors, client_errors = excluded.client_errors,
      latency = excluded.latency, bytes_received = excluded.bytes_received, bytes_sent = excluded.bytes_sent,
      cpu_millis_avg = excluded.cpu_millis_avg, memory_bytes_max = excluded.memory_bytes_max,
      in_flight_max = excluded.in_flight_max`;
}
