// Queue of benchmark runs on a server. The agent runs one at a time, the oldest first.
import { AppError, notifyChange, type OrganizationCtx } from '../kernel/index.ts';

/** Queued and running runs of a server. */
const queueMax = 20;
/** Queued and running runs of one app on a server, so that no app fills the queue. */
const appQueueMax = 5;

const activeOn = ({ organizationId }: OrganizationCtx, serverId: string) => ({
  organizationId,
  serverId,
  state: { in: ['queued', 'running'] },
});

/**
 * Locks the queue of the server until the transaction ends, and returns the time of a new entry: later than that of every
 * other, also if clocks differ. Throws benchmark.queue_full and benchmark.app_queue_full.
 */
export async function lockQueue(ctx: OrganizationCtx, serverId: string, appId: string): Promise<Date> {
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

/** Tells the pages of waiting runs that their position has changed. */
export async function notifyQueue(ctx: OrganizationCtx, serverId: string): Promise<void> {
  const waiting = await ctx.tx.benchmarkRun.findMany({
    where: { ...activeOn(ctx, serverId), state: 'queued' },
    select: { id: true, appId: true },
  });
  for (const { id, appId } of waiting) await notifyChange(ctx, { kind: 'benchmark', id, appId });
}
