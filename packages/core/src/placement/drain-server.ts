// Drains a server: no deployment starts on it, and the apps that run elsewhere too leave it.
import { Prisma } from '@fairlead/db';
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServer, uninstallView } from '../server/index.ts';
import { detachServer } from './detach-server.ts';
import { lockDrainedApps, type VerifyRights } from './drained-apps.ts';
import { getDrain } from './get-drain.ts';
import type { DrainServerInput, ServerDrain } from './schema.ts';

/**
 * A drained server can be drained again: apps that could not leave before may leave then. Ends the drain with
 * `drained: false`; apps do not come back. Throws server.not_found and server.uninstall_under_way.
 */
export async function drainServer(
  ctx: Ctx,
  { drained, ...input }: DrainServerInput,
  verifyRights: VerifyRights,
): Promise<ServerDrain> {
  const { serverId, leaveVolumes = false } = input;
  const { tx, organizationId } = ctx;
  const placed = await lockDrainedApps(ctx, input, verifyRights);
  const server = await tx.server.findFirst({
    where: { id: serverId, organizationId },
    select: { name: true, drainedAt: true, uninstall: true, baseDomain: true },
  });
  if (server === null) throw new AppError('server.not_found', { serverId });
  if (!drained && uninstallView(server.uninstall)?.state === 'running') {
    throw new AppError('server.uninstall_under_way', { serverId });
  }
  const was = server.drainedAt !== null;
  if (was !== drained) {
    const by = { drainedAt: ctx.clock.now(), drainedByUserId: actorUserId(ctx.actor) };
    await tx.server.updateMany({
      where: { id: serverId, organizationId },
      // A failed uninstall ends with it: the server stays.
      data: drained ? by : { drainedAt: null, drainedByUserId: null, uninstall: Prisma.DbNull },
    });
  }
  // A drained server has no deployment URLs.
  if (was !== drained && server.baseDomain !== null) await bumpServer(ctx, serverId);
  await recordAudit(ctx, {
    action: 'server.drain',
    target: { kind: 'server', id: serverId, label: server.name },
    before: { drained: was },
    after: { drained, ...(leaveVolumes ? { leaveVolumes } : {}) },
  });
  if (drained) {
    for (const { appId, environmentId, stays } of placed) {
      if (stays === null) await detachServer(ctx, { appId, environmentId, serverId });
    }
  }
  await notifyChange(ctx, { kind: 'server', id: serverId });
  ctx.log.info({ serverId, drained, actor: ctx.actor }, 'changed the drain of a server');
  return getDrain(ctx, input);
}
