// Stores frames: one row per second, app, route and server. A stored second stays as it is, so a repeated frame
// changes nothing.
import type { AppSample, Frame, HostSample, RouteSample } from '@fairlead/contract/agent';
import { encodeHistogram, histogramFromWire } from '@fairlead/contract/histogram';
import { metricRetentionMs } from '@fairlead/contract/metrics';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';

export interface RecordFramesInput {
  readonly serverId: string;
  readonly frames: readonly Frame[];
  /** Agent clock minus ours. */
  readonly clockOffsetMs: number;
}

interface AppRow {
  readonly at: Date;
  readonly seconds: number;
  readonly sample: AppSample;
  readonly latencyHex: string;
}

interface RouteRow {
  readonly at: Date;
  readonly seconds: number;
  readonly sample: RouteSample;
  readonly latencyHex: string;
}

interface HostRow {
  readonly at: Date;
  readonly seconds: number;
  readonly host: HostSample;
}

const secondMs = 1000;
// Maximum lead of a clock after correction; later frames would lie in seconds that are still to come.
const futureMaxMs = 60_000;
// Partitions reach back a day; frames of an older spool are dropped.
const pastMaxMs = metricRetentionMs['1s'] - 60_000;
// A frame is about a second; after a stop of the whole machine it may be longer, and its amounts are those of that time.
const secondsMax = 60;
// An hour of frames still fits the columns: 3600 times this is below 2^62.
const amountMax = 2n ** 50n;
// An agent reports 64 and one of each app; two proxies serve during an upgrade.
const routesMax = 1024;
// RFC 1035's longest name, as an agent's routes have it; a path of the table is far shorter than this.
const hostPattern = /^[a-z0-9.*:_[\]-]{0,260}$/;
const pathPattern = /^[\x21-\x7e]{0,2048}$/;

/**
 * Answers what was stored: samples of apps that don't live on this server are left out, and frames of another day. Throws
 * link.malformed on a histogram or route that cannot be.
 */
export async function recordFrames(ctx: OrganizationCtx, input: RecordFramesInput): Promise<Frame[]> {
  const nowMs = ctx.clock.now().getTime();
  const placed = await placedApps(ctx, input.serverId);
  const apps: AppRow[] = [];
  const routes: RouteRow[] = [];
  const hosts: HostRow[] = [];
  const timely: Frame[] = [];
  for (const frame of input.frames) {
    const unixMs = Number(frame.agentUnixMs) - input.clockOffsetMs;
    if (!(unixMs > nowMs - pastMaxMs && unixMs < nowMs + futureMaxMs)) continue;
    const own = frame.apps.filter((sample) => placed.has(`${sample.appId}/${sample.environmentId}`));
    const ownRoutes = frame.routes.filter((sample) => placed.has(`${sample.appId}/${sample.environmentId}`));
    timely.push({ ...frame, apps: own, routes: ownRoutes });
    const at = new Date(Math.floor(unixMs / secondMs) * secondMs);
    const seconds = Math.min(Math.max(1, Math.round(frame.durationMs / secondMs)), secondsMax);
    if (frame.host !== undefined) hosts.push({ at, seconds, host: frame.host });
    for (const sample of own) apps.push({ at, seconds, sample, latencyHex: latencyHexOf(sample) });
    for (const sample of requireRoutes(ownRoutes)) {
      routes.push({ at, seconds, sample, latencyHex: latencyHexOf(sample) });
    }
  }
  const untimely = input.frames.length - timely.length;
  if (untimely > 0) ctx.log.warn({ serverId: input.serverId, untimely }, 'frames too old or too new were dropped');
  await insertApps(ctx, input.serverId, apps);
  await insertRoutes(ctx, input.serverId, routes);
  await insertHosts(ctx, input.serverId, hosts);
  await markDue(ctx, input.serverId, [...apps, ...hosts]);
  return timely;
}

async function placedApps(ctx: OrganizationCtx, serverId: string): Promise<ReadonlySet<string>> {
  const placements = await ctx.tx.placement.findMany({
    where: { servers: { some: { serverId } }, organizationId: ctx.organizationId },
    select: { appId: true, environmentId: true },
  });
  return new Set(placements.map((placement) => `${placement.appId}/${placement.environmentId}`));
}

/** Checks the routes of samples: PostgreSQL takes no NUL in a text, and their number is limited. */
function requireRoutes(samples: readonly RouteSample[]): readonly RouteSample[] {
  const wrong = samples.find(({ host, pathPrefix }) => !(hostPattern.test(host) && pathPattern.test(pathPrefix)));
  if (wrong !== undefined || samples.length > routesMax) throw new AppError('link.malformed', { field: 'routes' });
  return samples;
}

function latencyHexOf(sample: AppSample | RouteSample): string {
  const histogram = histogramFromWire(sample.latency);
  if (histogram === null) throw new AppError('link.malformed', { field: 'latency', appId: sample.appId });
  return Buffer.from(encodeHistogram(histogram)).toString('hex');
}

async function insertApps(ctx: OrganizationCtx, serverId: string, rows: readonly AppRow[]): Promise<void> {
  if (rows.length === 0) return;
  // One array a column: the statement stays the same whatever the number of rows.
  await ctx.tx.$executeRaw`
    INSERT INTO metric.app_1s (organization_id, app_id, environment_id, server_id, at, seconds, requests, errors,
      client_errors, latency, bytes_received, bytes_sent, cpu_millis_avg, memory_bytes_max, in_flight_max)
    SELECT ${ctx.organizationId}, app_id, environment_id, ${serverId}, at, seconds, requests, errors, client_errors,
      decode(latency, 'hex'), bytes_received, bytes_sent, cpu_millis, memory_bytes, in_flight
    FROM unnest(
      ${rows.map((row) => row.sample.appId)}::text[], ${rows.map((row) => row.sample.environmentId)}::text[],
      ${rows.map((row) => row.at.toISOString())}::timestamptz[], ${rows.map((row) => row.seconds)}::int[],
      ${rows.map((row) => row.sample.requests)}::bigint[], ${rows.map((row) => row.sample.errors)}::bigint[],
      ${rows.map((row) => row.sample.clientErrors)}::bigint[], ${rows.map((row) => row.latencyHex)}::text[],
      ${rows.map((row) => whole(row.sample.bytesReceived))}::bigint[], ${rows.map((row) => whole(row.sample.bytesSent))}::bigint[],
      ${rows.map((row) => int(row.sample.cpuMillis))}::int[], ${rows.map((row) => whole(row.sample.memoryBytes))}::bigint[],
      ${rows.map((row) => int(row.sample.inFlight))}::int[]
    ) AS sample (app_id, environment_id, at, seconds, requests, errors, client_errors, latency, bytes_received, bytes_sent,
      cpu_millis, memory_bytes, in_flight)
    ON CONFLICT DO NOTHING`;
}

async function insertRoutes(ctx: OrganizationCtx, serverId: string, rows: readonly RouteRow[]): Promise<void> {
  if (rows.length === 0) return;
  await ctx.tx.$executeRaw`
    INSERT INTO metric.route_1s (organization_id, app_id, environment_id, server_id, host, path_prefix, at, seconds,
      requests, errors, client_errors, latency)
    SELECT ${ctx.organizationId}, app_id, environment_id, ${serverId}, host, path_prefix, at, seconds, requests, errors,
      client_errors, decode(latency, 'hex')
    FROM unnest(
      ${rows.map((row) => row.sample.appId)}::text[], ${rows.map((row) => row.sample.environmentId)}::text[],
      ${rows.map((row) => row.sample.host)}::text[], ${rows.map((row) => row.sample.pathPrefix)}::text[],
      ${rows.map((row) => row.at.toISOString())}::timestamptz[], ${rows.map((row) => row.seconds)}::int[],
      ${rows.map((row) => row.sample.requests)}::bigint[], ${rows.map((row) => row.sample.errors)}::bigint[],
      ${rows.map((row) => row.sample.clientErrors)}::bigint[], ${rows.map((row) => row.latencyHex)}::text[]
    ) AS sample (app_id, environment_id, host, path_prefix, at, seconds, requests, errors, client_errors, latency)
    ON CONFLICT DO NOTHING`;
}

async function insertHosts(ctx: OrganizationCtx, serverId: string, rows: readonly HostRow[]): Promise<void> {
  if (rows.length === 0) return;
  await ctx.tx.$executeRaw`
    INSERT INTO metric.server_1s (organization_id, server_id, at, seconds, cpu_millis_avg, memory_used_bytes_max,
      memory_total_bytes, disk_used_bytes_max, disk_total_bytes, network_received_bytes, network_sent_bytes,
      load1_millis_avg, agent_cpu_millis_avg, agent_memory_bytes_max, open_connections_max)
    SELECT ${ctx.organizationId}, ${serverId}, sample.*
    FROM unnest(
      ${rows.map((row) => row.at.toISOString())}::timestamptz[], ${rows.map((row) => row.seconds)}::int[],
      ${rows.map((row) => int(row.host.cpuMillis))}::int[], ${rows.map((row) => whole(row.host.memoryUsedBytes))}::bigint[],
      ${rows.map((row) => whole(row.host.memoryTotalBytes))}::bigint[], ${rows.map((row) => whole(row.host.diskUsedBytes))}::bigint[],
      ${rows.map((row) => whole(row.host.diskTotalBytes))}::bigint[],
      ${rows.map((row) => whole(row.host.networkReceivedBytes))}::bigint[],
      ${rows.map((row) => whole(row.host.networkSentBytes))}::bigint[], ${rows.map((row) => int(row.host.load1Millis))}::int[],
      ${rows.map((row) => int(row.host.agentCpuMillis))}::int[], ${rows.map((row) => whole(row.host.agentMemoryBytes))}::bigint[],
      ${rows.map((row) => int(row.host.openConnections))}::int[]
    ) AS sample
    ON CONFLICT DO NOTHING`;
}

/** Written even where a mark exists: the write waits for a roll-up that is just taking it, which then takes it again. */
async function markDue(ctx: OrganizationCtx, serverId: string, rows: readonly { readonly at: Date }[]): Promise<void> {
  const minutes = [...new Set(rows.map((row) => Math.floor(row.at.getTime() / 60_000) * 60_000))].sort((a, b) => a - b);
  if (minutes.length === 0) return;
  await ctx.tx.$executeRaw`
    INSERT INTO metric.roll_up_due (resolution, at, server_id, organization_id)
    SELECT '1m', at, ${serverId}, ${ctx.organizationId}
    FROM unnest(${minutes.map((minute) => new Date(minute).toISOString())}::timestamptz[]) AS minute (at)
    ON CONFLICT (resolution, at, server_id) DO UPDATE SET organization_id = excluded.organization_id`;
}

/** The columns are signed; nothing real comes near their ends. */
function int(value: number): number {
  return Math.min(value, 2 ** 31 - 1);
}

/** Bytes: an amount that no second of a real machine comes near would overflow the sums of roll-ups. */
function whole(value: bigint): string {
  return String(value > amountMax ? amountMax : value);
}
