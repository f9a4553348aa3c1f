// Restores a deleted app with all of its rows. Its servers start the releases that were live on them.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { type Ctx, notifyChange, withDeletedApps } from '../kernel/index.ts';
import { keepVolumes } from '../volume/index.ts';
import { bumpAll } from './delete-app.ts';
import { lockDeletedApp } from './deleted-app.ts';
import type { AppIdentity, AppRef } from './schema.ts';

/** Throws app.not_deleted. */
export async function restoreApp(ctx: Ctx, { appId }: AppRef): Promise<AppIdentity> {
  const { tx, organizationId } = ctx;
  const app = await withDeletedApps(ctx, () => lockDeletedApp(ctx, { appId }));
  await tx.appDeletion.deleteMany({ where: { appId, organizationId } });
  const placements = await tx.placement.findMany({
    where: { appId, organizationId, servers: { some: {} } },
    select: { environmentId: true, servers: { select: { serverId: true } } },
    orderBy: { id: 'asc' },
  });
  for (const { environmentId } of placements) await keepVolumes(ctx, { appId, environmentId });
  await bumpAll(
    ctx,
    placements.flatMap(({ servers }) => servers.map(({ serverId }) => serverId)),
  );
  await recordAudit(ctx, {
    action: 'app.restore',
    target: { kind: 'app', id: appId, label: app.name },
    before: { purgeAt: app.purgeAt.toISOString() },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  ctx.log.info({ appId, actor: ctx.actor }, 'restored an app');
  return { id: parseId('app', appId), slug: app.slug };
}
