// Updates the settings of a server's whole proxy. They take effect at once.
import { type AuditFields, changedFields, recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { isPlainProxy, type ProxySettings, proxySettingsSchema } from '../traffic/index.ts';
import { bumpServer } from './bump-server.ts';
import type { UpdateProxyInput } from './schema.ts';

/** Throws server.proxy_is_control. */
export async function updateProxy(ctx: Ctx, { serverId, proxy: after }: UpdateProxyInput): Promise<ProxySettings> {
  const where = { id: serverId, organizationId: ctx.organizationId };
  const server = await ctx.tx.server.findFirst({ where, select: { name: true, isLocal: true, proxy: true } });
  if (server === null) throw new AppError('server.not_found', { serverId });
  // If this setting made the dashboard unreachable, it could not be undone there either.
  if (server.isLocal && after.proxyProtocol) throw new AppError('server.proxy_is_control', { serverId });
  const before = proxySettingsSchema.parse(server.proxy);
  await ctx.tx.server.updateMany({ where, data: { proxy: isPlainProxy(after) ? {} : after } });
  await bumpServer(ctx, serverId);
  await recordAudit(ctx, {
    action: 'server.update_proxy',
    target: { kind: 'server', id: serverId, label: server.name },
    ...changedFields(auditFields(before), auditFields(after)),
  });
  await notifyChange(ctx, { kind: 'server', id: serverId });
  return after;
}

/** Returns the settings as text, because some are lists and objects. */
function auditFields(settings: ProxySettings): AuditFields {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, JSON.stringify(value)]));
}
