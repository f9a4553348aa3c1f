// Queue of benchmark runs on a server. The agent runs one at a time, the oldest first.
import { Prisma } from '@fairlead/db';
import { AppError, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';

/** Queued and running runs of a server. */
const queueMax = 20;
/** Queued and running runs of one app on a server, so that no app fills the queue. */
const appQueueMax = 5;

const activeOn = ({ organizationId }: OrganizationCtx, serverId: string) => ({
  organizationId,
  OR: [{ serverId }, { servers: { some: { serverId } } }],
  state: { in: ['queued', 'running'] },
});

/**
 * Locks the queues of the servers, in the order of their ids, so that two runs never wait for each other. Returns the time of a new
 * entry, which is the latest in all of them.
 */
export async function lockQueues(ctx: OrganizationCtx, serverIds: readonly string[], appId: string): Promise<Date> {
  let latestMs = 0;
  for (const serverId of serverIds.toSorted()) {
    latestMs = Math.max(latestMs, (await lockQueue(ctx, serverId, appId)).getTime());
  }
  return new Date(latestMs);
}

/**
 * Locks the queue of the server until the transaction ends, and returns the time of a new entry: later than that of every
 * other, also if clocks differ. Throws benchmark.queue_full and benchmark.app_queue_full.
 */
async function lockQueue(ctx: OrganizationCtx, serverId: string, appId: string): Promise<Date> {
  const { tx, organizationId } = ctx;
  await tx.$queryRaw`
    SELECT id FROM server WHERE id = ${serverId} AND organization_id = ${organizationId} FOR NO KEY UPDATE`;
  const entries = await tx.benchmarkRun.findMany({
    where: activeOn(ctx, serverId),
    select: { createdAt: true, appId: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
  if (entries.length >= queueMax) throw new AppError('benchmark.queue_full', { serverId });
  if (entries.filter((entry) => entry.appId === appId).length >= appQueueMax) {
    throw new AppError('benchmark.app_queue_full', { appId });
  }
  const newestMs = entries[0]?.createdAt.getTime() ?? 0;
  return new Date(Math.max(ctx.clock.now().getTime(), newestMs + 1));
}

type RunsOf =
  | { readonly serverId: string }
  /** Without an environment: in all of them. */
  | { readonly appId: string; readonly environmentId?: string };

/**
 * Locks the unfinished runs of a server or an app, in the order of `failOverdueBenchmarks`. Invariant: each transaction locks
 * runs before it gives a server a new state. In another order, two transactions could deadlock.
 */
export async function lockRuns({ tx, organizationId }: OrganizationCtx, of: RunsOf): Promise<void> {
  await tx.$queryRaw`
    SELECT run.id FROM benchmark_run AS run
    WHERE run.organization_id = ${organizationId} AND run.state IN ('queued', 'running') AND ${isRunOf(of)}
    ORDER BY run.created_at, run.id FOR UPDATE OF run`;
}

function isRunOf(of: RunsOf): Prisma.Sql {
  if ('serverId' in of) {
    return Prisma.sql`(run.server_id = ${of.serverId} OR EXISTS (
      SELECT FROM benchmark_run_server AS server WHERE server.run_id = run.id AND server.server_id = ${of.serverId}))`;
  }
  const { appId, environmentId } = of;
  const isOfApp = Prisma.sql`run.app_id = ${appId}`;
  return environmentId === undefined ? isOfApp : Prisma.sql`${isOfApp} AND run.environment_id = ${environmentId}`;
}

/** Gives the servers that still exist a new desired state, in the order of their ids. */
export async function bumpServers(ctx: OrganizationCtx, serverIds: readonly string[]): Promise<void> {
  const found = await ctx.tx.server.findMany({
    where: { id: { in: [...serverIds] }, organizationId: ctx.organizationId },
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  for (const { id } of found) await bumpServer(ctx, id);
}

/** Returns the servers of a run: that of the app, and its load servers. */
export function serversOf(run: {
  readonly serverId: string | null;
  readonly servers: readonly { readonly serverId: string }[];
}): string[] {
  return [
    ...new Set([...(run.serverId === null ? [] : [run.serverId]), ...run.servers.map(({ serverId }) => serverId)]),
  ];
}

/** Starts what waits in the queues of servers where a run has ended. */
export async function advanceQueues(ctx: OrganizationCtx, serverIds: readonly string[]): Promise<void> {
  // A distributed run starts when its last server is free, so all its servers need a new desired state.
  const waiting = await ctx.tx.benchmarkRun.findMany({
    where: {
      organizationId: ctx.organizationId,
      state: 'queued',
      servers: { some: { serverId: { in: [...serverIds] } } },
    },
    select: { serverId: true, servers: { select: { serverId: true } } },
  });
  await bumpServers(ctx, [...serverIds, ...waiting.flatMap(serversOf)]);
  for (const serverId of new Set(serverIds)) await notifyQueue(ctx, serverId);
}

/** Tells the pages of waiting runs that their position has changed. */
async function notifyQueue(ctx: OrganizationCtx, serverId: string): Promise<void> {
  const waiting = await ctx.tx.benchmarkRun.findMany({
    where: { ...activeOn(ctx, serverId), state: 'queued' },
    select: { id: true, appId: true },
  });
  for (const { id, appId } of waiting) await notifyChange(ctx, { kind: 'benchmark', id, appId });
}
