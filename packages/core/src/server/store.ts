// Reads servers with their latest samples, in a fixed number of queries.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { Ctx, OrganizationCtx } from '../kernel/index.ts';
import { type AddressFacts, detectedAddresses } from './addresses.ts';
import { serverState, silenceMaxMs } from './rules.ts';
import { type AgentOffer, diskSchema, hostInfoSchema, type ServerAddresses, type ServerSummary } from './schema.ts';
import { uninstallView } from './uninstall.ts';
import { otherAgentFor, upgradeView } from './upgrade.ts';

const sparklineMinutes = 30;

interface MinuteRow {
  readonly serverId: string;
  readonly minute: number;
  readonly cpuMillis: number;
}

interface LatestRow {
  readonly serverId: string;
  readonly cpuMillis: number;
  readonly memoryUsed: bigint;
  readonly memoryTotal: bigint;
  readonly diskUsed: bigint;
  readonly diskTotal: bigint;
}

interface ServerFilter {
  readonly id?: string;
  /** Only these; default: all. */
  readonly ids?: readonly string[] | undefined;
  readonly projectId?: string | undefined;
}

/** Loads the servers of the organization by name, or those that match. */
export async function loadServers(
  ctx: Ctx,
  offers: readonly AgentOffer[] = [],
  filter: ServerFilter = {},
): Promise<ServerSummary[]> {
  const now = ctx.clock.now();
  const rows = await ctx.tx.server.findMany({
    where: whereOf(ctx, filter),
    orderBy: { name: 'asc' },
    include: { _count: { select: { placements: true } } },
  });
  const ids = rows.map((row) => row.id);
  const from = new Date(Math.floor(now.getTime() / 60_000) * 60_000 - (sparklineMinutes - 1) * 60_000);
  const minutes = await ctx.tx.$queryRaw<MinuteRow[]>`
    SELECT server_id AS "serverId", (extract(epoch FROM at - ${from}::timestamptz) / 60)::int AS "minute",
           cpu_millis_avg AS "cpuMillis"
    FROM metric.server_1m
    WHERE organization_id = ${ctx.organizationId} AND at >= ${from} AND at <= ${now}
      AND server_id = ANY(${ids})`;
  const latest = await loadLatest(ctx, ids, now);

  const sparklines = new Map<string, number[]>();
  for (const row of minutes) {
    const line = sparklines.get(row.serverId) ?? new Array<number>(sparklineMinutes).fill(0);
    if (row.minute >= 0 && row.minute < sparklineMinutes) line[row.minute] = row.cpuMillis;
    sparklines.set(row.serverId, line);
  }

  return rows.map((row) => {
    const sample = latest.get(row.id);
    return {
      id: parseId('srv', row.id),
      name: row.name,
      isLocal: row.isLocal,
      state: serverState(row, now),
      connectedAt: row.connectedAt,
      lastSeenAt: row.lastSeenAt,
      agentVersion: row.agentVersion,
      host: hostInfoSchema.parse(row.hostInfo),
      inSync: row.appliedEpoch === row.desiredEpoch && row.appliedNumber === row.desiredNumber,
      refusedReason: row.refusedReason,
      clockOffsetMs: row.clockOffsetMs,
      appCount: row._count.placements,
      cpuMillis: sample?.cpuMillis ?? null,
      memoryUsedBytes: bytes(sample?.memoryUsed),
      memoryTotalBytes: bytes(sample?.memoryTotal),
      diskUsedBytes: bytes(sample?.diskUsed),
      diskTotalBytes: bytes(sample?.diskTotal),
      cpuSparkline: sparklines.get(row.id) ?? new Array<number>(sparklineMinutes).fill(0),
      createdAt: row.createdAt,
      drainedAt: row.drainedAt,
      diskWarning: diskSchema.safeParse(row.disk).data?.warning || null,
      capabilities: row.capabilities,
      agentDigest: row.agentDigest,
      offeredAgent: otherAgentFor(row, offers),
      upgrade: upgradeView(row.upgrade, now),
      uninstall: uninstallView(row.uninstall),
    };
  });
}

function whereOf({ organizationId }: Ctx, { id, ids, projectId }: ServerFilter): Prisma.ServerWhereInput {
  return {
    organizationId,
    ...(id === undefined ? {} : { id }),
    ...(ids === undefined ? {} : { AND: { id: { in: [...ids] } } }),
    ...(projectId === undefined ? {} : { placements: { some: { placement: { app: { projectId } } } } }),
  };
}

/** The newest second of each server if it is of the last minute, else the newest minute of the last five. */
async function loadLatest(ctx: Ctx, ids: readonly string[], now: Date): Promise<Map<string, LatestRow>> {
  const newest = (table: string, sinceMs: number): Promise<LatestRow[]> => {
    const since = new Date(now.getTime() - sinceMs);
    return ctx.tx.$queryRaw<LatestRow[]>`
      SELECT wanted.id AS "serverId", sample.*
      FROM unnest(${ids}::text[]) AS wanted (id)
      CROSS JOIN LATERAL (
        SELECT cpu_millis_avg AS "cpuMillis", memory_used_bytes_max AS "memoryUsed", memory_total_bytes AS "memoryTotal",
               disk_used_bytes_max AS "diskUsed", disk_total_bytes AS "diskTotal"
        FROM ${Prisma.raw(table)} AS metric
        WHERE metric.server_id = wanted.id AND metric.at >= ${since}
        ORDER BY metric.at DESC LIMIT 1
      ) AS sample`;
  };
  const found = new Map<string, LatestRow>();
  for (const row of await newest('metric.server_1m', 5 * 60_000)) found.set(row.serverId, row);
  for (const row of await newest('metric.server_1s', 60_000)) found.set(row.serverId, row);
  return found;
}

/** The same as `isConnected`, on the columns of `server`. */
export function isConnectedSql(now: Date): Prisma.Sql {
  const since = new Date(now.getTime() - silenceMaxMs);
  return Prisma.sql`(server.connected_gateway IS NOT NULL AND coalesce(server.last_seen_at >= ${since}, false))`;
}

function bytes(value: bigint | undefined): number | null {
  return value === undefined ? null : Number(value);
}

export function addressesView(facts: AddressFacts): ServerAddresses {
  return { detected: detectedAddresses(facts), entered: [...facts.enteredAddresses] };
}

export async function hasServer(ctx: OrganizationCtx, { serverId }: { readonly serverId: string }): Promise<boolean> {
  return (await ctx.tx.server.count({ where: { organizationId: ctx.organizationId, id: serverId } })) > 0;
}
