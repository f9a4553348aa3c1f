// Ends a server: checks that nothing needs it, and deletes it with its identity.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { requireNoApps } from './require-no-apps.ts';
import type { DeleteServerInput } from './schema.ts';

interface EndedServer {
  readonly serverId: string;
  readonly name: string;
}

/** Throws server.not_found, server.is_local, server.in_use and server.confirm_mismatch. */
export async function requireDeletable(
  ctx: Ctx,
  { serverId, confirmName }: DeleteServerInput,
): Promise<{ readonly name: string }> {
  const server = await ctx.tx.server.findFirst({
    where: { id: serverId, organizationId: ctx.organizationId },
    select: { name: true, isLocal: true },
  });
  if (server === null) throw new AppError('server.not_found', { serverId });
  if (server.isLocal) throw new AppError('server.is_local', { serverId });
  await requireNoApps(ctx, { serverId });
  if (server.name !== confirmName.trim()) throw new AppError('server.confirm_mismatch', { serverId });
  return { name: server.name };
}

/** Its agent is refused from then on, and its volumes are not listed any more. */
export async function endServer(
  ctx: OrganizationCtx & Pick<Ctx, 'actor' | 'ip'>,
  { serverId, name }: EndedServer,
): Promise<void> {
  const { tx, organizationId } = ctx;
  await tx.$executeRaw`
    UPDATE volume SET used_bytes = used_bytes - ${serverId}::text
    WHERE organization_id = ${organizationId} AND jsonb_exists(used_bytes, ${serverId})`;
  await tx.server.deleteMany({ where: { id: serverId, organizationId } });
  await recordAudit(ctx, {
    action: 'server.delete',
    target: { kind: 'server', id: serverId, label: name },
    before: { name },
  });
  await notifyChange(ctx, { kind: 'server', id: serverId });
  ctx.log.info({ serverId, actor: ctx.actor }, 'deleted a server');
}
