// Requests that a server's agent removes itself. The server is deleted when the agent reports that it is gone.
import { supports } from '@fairlead/contract/capabilities';
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServer } from './bump-server.ts';
import { requireDeletable } from './end-server.ts';
import { isConnected } from './rules.ts';
import type { GetServerInput, UninstallServerInput } from './schema.ts';
import { storedUninstall, uninstallView } from './uninstall.ts';

/**
 * The server is drained from then on, so that nothing is deployed to it. Throws server.not_found, server.is_local,
 * server.in_use, server.confirm_mismatch, server.not_connected, server.uninstall_unsupported and
 * server.uninstall_under_way.
 */
export async function uninstallServer(ctx: Ctx, input: UninstallServerInput): Promise<GetServerInput> {
  const { tx, organizationId } = ctx;
  const { serverId, withData } = input;
  const now = ctx.clock.now();
  // Without the lock, an app could be placed after it was looked for.
  await tx.$queryRaw`SELECT 1 FROM server WHERE id = ${serverId} AND organization_id = ${organizationId} FOR UPDATE`;
  const { name } = await requireDeletable(ctx, input);
  const server = await tx.server.findFirstOrThrow({
    where: { id: serverId, organizationId },
    select: { capabilities: true, connectedGateway: true, lastSeenAt: true, uninstall: true, drainedAt: true },
  });
  if (!isConnected(server, now)) throw new AppError('server.not_connected', { serverId });
  if (!supports(server.capabilities, 'uninstall')) throw new AppError('server.uninstall_unsupported', { serverId });
  if (uninstallView(server.uninstall)?.state === 'running') {
    throw new AppError('server.uninstall_under_way', { serverId });
  }
  const drain = server.drainedAt === null ? { drainedAt: now, drainedByUserId: actorUserId(ctx.actor) } : {};
  const uninstall = storedUninstall({ withData, state: 'running', failureMessage: null, requestedAt: now });
  await tx.server.updateMany({ where: { id: serverId, organizationId }, data: { ...drain, uninstall } });
  await bumpServer(ctx, serverId);
  await recordAudit(ctx, {
    action: 'server.uninstall',
    target: { kind: 'server', id: serverId, label: name },
    after: { withData },
  });
  await notifyChange(ctx, { kind: 'server', id: serverId });
  ctx.log.info({ serverId, withData, actor: ctx.actor }, 'asked an agent to remove itself');
  return { serverId };
}
