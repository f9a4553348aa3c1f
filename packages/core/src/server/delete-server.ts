// Deletes a server.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { requireNoApps } from './require-no-apps.ts';
import type { DeleteServerInput, GetServerInput } from './schema.ts';

/** Forgets a server without apps. Its agent is refused from then on; what it still runs is for its owner to stop. */
export async function deleteServer(ctx: Ctx, input: DeleteServerInput): Promise<GetServerInput> {
  const { organizationId } = ctx;
  const { serverId } = input;
  const server = await ctx.tx.server.findFirst({
    where: { id: serverId, organizationId },
    select: { name: true, isLocal: true },
  });
  if (server === null) throw new AppError('server.not_found', { serverId });
  if (server.isLocal) throw new AppError('server.is_local', { serverId });
  await requireNoApps(ctx, { serverId });
  if (server.name !== input.confirmName.trim()) throw new AppError('server.confirm_mismatch', { serverId });
  await ctx.tx.server.delete({ where: { id: serverId } });
  await recordAudit(ctx, {
    action: 'server.delete',
    target: { kind: 'server', id: serverId, label: server.name },
    before: { name: server.name },
  });
  await notifyChange(ctx, { kind: 'server', id: serverId });
  ctx.log.info({ serverId, actor: ctx.actor }, 'deleted a server');
  return { serverId };
}
