// Adds a server to an app in an environment.
// Invariant: it never deploys; the server gets the app with the next deployment.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { PlacementServerInput, PlacementServerRef } from './schema.ts';
import { lockApps, requireNothingUnderWay, requireOpenServer, requirePlacement } from './store.ts';

/** Throws app.not_found, server.not_found, server.drained, placement.already and placement.under_way. */
export async function attachServer(ctx: Ctx, input: PlacementServerInput): Promise<PlacementServerRef> {
  const { tx, organizationId } = ctx;
  const { appId, serverId } = input;
  await lockApps(ctx, [appId]);
  const { id, environmentId, servers, appName } = await requirePlacement(ctx, input);
  await requireOpenServer(ctx, { serverId });
  if (servers.some((each) => each.serverId === serverId)) throw new AppError('placement.already', { appId, serverId });
  await requireNothingUnderWay(ctx, { appId, environmentId });
  const last = await tx.placementServer.findFirstOrThrow({
    where: { placementId: id, organizationId },
    select: { position: true },
    orderBy: { position: 'desc' },
  });
  const position = last.position + 1;
  const createdAt = ctx.clock.now();
  await tx.placementServer.create({ data: { placementId: id, organizationId, serverId, position, createdAt } });
  await recordAudit(ctx, {
    action: 'app.attach_server',
    target: { kind: 'app', id: appId, label: appName },
    after: { environmentId, serverId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, environmentId, serverId };
}
