// Makes a server the primary one of an app in an environment.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { PlacementServerInput, PlacementServerRef } from './schema.ts';
import { lockApps, requireNothingUnderWay, requirePlacement } from './store.ts';

/**
 * Moves a server to the first position: the next deployment builds there, unless the settings name a build server, and
 * rolls out there first. Instances keep running. Throws app.not_found, placement.missing, placement.not_live and
 * placement.under_way.
 */
export async function moveServer(ctx: Ctx, input: PlacementServerInput): Promise<PlacementServerRef> {
  const { tx, organizationId } = ctx;
  const { appId, serverId } = input;
  await lockApps(ctx, [appId]);
  const { id, environmentId, servers, liveReleaseId, appName } = await requirePlacement(ctx, input);
  const moved = servers.find((each) => each.serverId === serverId);
  if (moved === undefined) throw new AppError('placement.missing', { appId, serverId });
  const before = servers[0].serverId;
  if (before === serverId) return { appId, environmentId, serverId };
  if (liveReleaseId !== null && moved.liveReleaseId === null) throw new AppError('placement.not_live', { serverId });
  await requireNothingUnderWay(ctx, { appId, environmentId });
  const { _min } = await tx.placementServer.aggregate({
    where: { placementId: id, organizationId },
    _min: { position: true },
  });
  await tx.placementServer.updateMany({
    where: { placementId: id, serverId, organizationId },
    data: { position: (_min.position ?? 0) - 1 },
  });
  await recordAudit(ctx, {
    action: 'app.move_server',
    target: { kind: 'app', id: appId, label: appName },
    before: { environmentId, primaryServerId: before },
    after: { environmentId, primaryServerId: serverId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, environmentId, serverId };
}
