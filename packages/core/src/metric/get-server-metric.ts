// Returns the chart of a server.
import { Prisma } from '@fairlead/db';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { ServerMetric, ServerMetricInput, ServerPoint } from './schema.ts';
import { chartWindow, elapsedSeconds } from './windows.ts';

interface StepRow {
  readonly step: number;
  readonly cpuMillis: number;
  readonly memoryUsed: bigint;
  readonly memoryTotal: bigint;
  readonly diskUsed: bigint;
  readonly diskTotal: bigint;
  readonly networkReceived: bigint;
  readonly networkSent: bigint;
  readonly load1Millis: number;
  readonly agentCpuMillis: number;
  readonly agentMemory: bigint;
  readonly openConnections: number;
  readonly seconds: bigint;
}

/** CPU, memory, disk and network of a server over a period. */
export async function getServerMetric(ctx: Ctx, input: ServerMetricInput): Promise<ServerMetric> {
  const { organizationId } = ctx;
  const { serverId } = input;
  const server = await ctx.tx.server.findFirst({ where: { id: serverId, organizationId }, select: { id: true } });
  if (server === null) throw new AppError('server.not_found', { serverId });
  const now = ctx.clock.now();
  const window = chartWindow(input, now);
  const rows: StepRow[] = [];
  for (const segment of window.segments) {
    rows.push(
      ...(await ctx.tx.$queryRaw<StepRow[]>`
        SELECT floor(extract(epoch FROM at - ${window.from}::timestamptz) * 1000 / ${window.stepMs}::int)::int AS "step",
               (sum(cpu_millis_avg * seconds) / sum(seconds))::float8 AS "cpuMillis",
               max(memory_used_bytes_max) AS "memoryUsed", max(memory_total_bytes) AS "memoryTotal",
               max(disk_used_bytes_max) AS "diskUsed", max(disk_total_bytes) AS "diskTotal",
               sum(network_received_bytes)::bigint AS "networkReceived", sum(network_sent_bytes)::bigint AS "networkSent",
               (sum(load1_millis_avg * seconds) / sum(seconds))::float8 AS "load1Millis",
               (sum(agent_cpu_millis_avg * seconds) / sum(seconds))::float8 AS "agentCpuMillis",
               max(agent_memory_bytes_max) AS "agentMemory", max(open_connections_max) AS "openConnections",
               sum(seconds)::bigint AS "seconds"
        FROM ${Prisma.raw(`metric.server_${segment.resolution}`)}
        WHERE server_id = ${serverId} AND organization_id = ${organizationId}
          AND at >= ${segment.from} AND at < ${segment.until}
        GROUP BY 1`),
    );
  }
  const steps = Map.groupBy(rows, (row) => row.step);
  const count = Math.round((window.to.getTime() - window.from.getTime()) / window.stepMs);
  const points = Array.from({ length: count }, (_, index) => {
    const startMs = window.from.getTime() + index * window.stepMs;
    return toPoint(startMs, elapsedSeconds(startMs, window.stepMs, now), steps.get(index) ?? []);
  });
  return { stepMs: window.stepMs, from: window.from, to: window.to, points };
}

/** A step at the end may come in two parts: what is rolled up, and what is not yet. */
function toPoint(startMs: number, elapsed: number, parts: readonly StepRow[]): ServerPoint {
  const at = new Date(startMs);
  const seconds = parts.reduce((total, part) => total + Number(part.seconds), 0);
  const average = (pick: (part: StepRow) => number): number | null =>
    seconds === 0 ? null : parts.reduce((total, part) => total + pick(part) * Number(part.seconds), 0) / seconds;
  const most = (pick: (part: StepRow) => bigint | number): number | null =>
    seconds === 0 ? null : parts.reduce((found, part) => Math.max(found, Number(pick(part))), 0);
  const rate = (pick: (part: StepRow) => bigint): number | null =>
    seconds === 0 ? null : parts.reduce((total, part) => total + Number(pick(part)), 0) / elapsed;
  const load = average((part) => part.load1Millis);
  return {
    at,
    cpuMillis: average((part) => part.cpuMillis),
    memoryUsedBytes: most((part) => part.memoryUsed),
    memoryTotalBytes: most((part) => part.memoryTotal),
    diskUsedBytes: most((part) => part.diskUsed),
    diskTotalBytes: most((part) => part.diskTotal),
    networkReceivedPerSecond: rate((part) => part.networkReceived),
    networkSentPerSecond: rate((part) => part.networkSent),
    load1: load === null ? null : load / 1000,
    agentCpuMillis: average((part) => part.agentCpuMillis),
    agentMemoryBytes: most((part) => part.agentMemory),
    openConnections: most((part) => part.openConnections),
  };
}
