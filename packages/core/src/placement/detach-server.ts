// Removes a server from an app in an environment.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';
import type { PlacementServerInput, PlacementServerRef } from './schema.ts';
import { lockApps, requireNothingUnderWay, requirePlacement } from './store.ts';

/**
 * The server stops the app as soon as it gets the new state. If it was the primary server, the next one becomes it. Throws
 * app.not_found, placement.missing, placement.last and placement.under_way.
 */
export async function detachServer(ctx: Ctx, input: PlacementServerInput): Promise<PlacementServerRef> {
  const { tx, organizationId } = ctx;
  const { appId, serverId } = input;
  await lockApps(ctx, [appId]);
  const { id, environmentId, servers, appName } = await requirePlacement(ctx, input);
  if (!servers.some((each) => each.serverId === serverId)) throw new AppError('placement.missing', { appId, serverId });
  if (servers.length === 1) throw new AppError('placement.last', { appId });
  await requireNothingUnderWay(ctx, { appId, environmentId });
  await tx.placementServer.deleteMany({ where: { placementId: id, serverId, organizationId } });
  await tx.instance.deleteMany({ where: { appId, environmentId, serverId, organizationId } });
  await bumpServer(ctx, serverId);
  await recordAudit(ctx, {
    action: 'app.detach_server',
    target: { kind: 'app', id: appId, label: appName },
    before: { environmentId, serverId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, environmentId, serverId };
}
