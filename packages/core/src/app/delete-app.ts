// Deletes an app and all of its rows. Logs are outside of the database; the log feature deletes them.

import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { lockApps } from '../placement/index.ts';
import { bumpServer } from '../server/index.ts';
import type { AppIdentity, DeleteAppInput } from './schema.ts';

/** Deletes an app with all that belongs to it; its server stops it as soon as it gets the new state. */
export async function deleteApp(ctx: Ctx, input: DeleteAppInput): Promise<AppIdentity> {
  const { tx, organizationId } = ctx;
  const { appId } = input;
  await lockApps(ctx, [appId]);
  const app = await tx.app.findFirst({
    where: { id: appId, organizationId },
    select: {
      name: true,
      slug: true,
      repositoryUrl: true,
      placements: { select: { servers: { select: { serverId: true } } } },
    },
  });
  if (app === null) throw new AppError('app.not_found', { appId });
  if (app.name !== input.confirmName.trim()) throw new AppError('app.confirm_mismatch', { appId });
  // Deletes referencing rows first: placement servers reference releases, and deployments reference both, without a cascade.
  await tx.placementServer.deleteMany({ where: { placement: { appId }, organizationId } });
  await tx.deployment.deleteMany({ where: { appId, organizationId } });
  await tx.app.delete({ where: { id: appId } });
  const serverIds = app.placements.flatMap(({ servers }) => servers.map(({ serverId }) => serverId));
  // Sorts server ids, because every transaction locks servers in this order.
  for (const serverId of [...new Set(serverIds)].sort()) await bumpServer(ctx, serverId);
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  await recordAudit(ctx, {
    action: 'app.delete',
    target: { kind: 'app', id: appId, label: app.name },
    before: { name: app.name, slug: app.slug, repositoryUrl: app.repositoryUrl },
  });
  ctx.log.info({ appId, actor: ctx.actor }, 'deleted an app');
  return { id: parseId('app', appId), slug: app.slug };
}
