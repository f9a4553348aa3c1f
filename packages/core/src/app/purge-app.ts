// Deletes an app permanently, with all of its rows. Its volumes stay on their servers, as volumes that an app has left.
// Logs are outside of the database: the caller deletes their objects after the commit.
import { type AppId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange, type SystemCtx, withDeletedApps } from '../kernel/index.ts';
import { listAppLogs } from '../log/index.ts';
import { lockApps } from '../placement/index.ts';
import { bumpAll } from './delete-app.ts';
import { lockDeletedApp } from './deleted-app.ts';
import type { AppIdentity, AppRef, DeleteAppInput } from './schema.ts';

export interface PurgedApp extends AppIdentity {
  /** Objects of its logs in the log store. */
  readonly objectKeys: readonly string[];
}

/** Purges a deleted app before its time. Throws app.not_deleted and app.confirm_mismatch. */
export function purgeDeletedApp(ctx: Ctx, input: DeleteAppInput): Promise<PurgedApp> {
  const { appId } = input;
  return withDeletedApps(ctx, async () => {
    const { name } = await lockDeletedApp(ctx, { appId });
    if (name !== input.confirmName.trim()) throw new AppError('app.confirm_mismatch', { appId });
    return purgeApp(ctx, { appId });
  });
}

/** Purges a deleted app whose delay has passed; null if it was restored since. */
export function purgeDueApp(ctx: Ctx, { appId }: AppRef): Promise<PurgedApp | null> {
  return withDeletedApps(ctx, async () => {
    await lockApps(ctx, [appId]);
    const due = { appId, organizationId: ctx.organizationId, purgeAt: { lte: ctx.clock.now() } };
    return (await ctx.tx.appDeletion.count({ where: due })) === 0 ? null : purgeApp(ctx, { appId });
  });
}

/** Purges an app, deleted before or not. Throws app.not_found. */
export function purgeApp(ctx: Ctx, { appId }: AppRef): Promise<PurgedApp> {
  const { tx, organizationId } = ctx;
  return withDeletedApps(ctx, async () => {
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
    const { name, slug, repositoryUrl, placements } = app;
    const objectKeys = await listAppLogs(ctx, { appId });
    // Deletes referencing rows first: placement servers reference releases, and deployments reference both, without a cascade.
    await tx.placementServer.deleteMany({ where: { placement: { appId }, organizationId } });
    await tx.deployment.deleteMany({ where: { appId, organizationId } });
    await tx.app.delete({ where: { id: appId } });
    await bumpAll(
      ctx,
      placements.flatMap(({ servers }) => servers.map(({ serverId }) => serverId)),
    );
    await notifyChange(ctx, { kind: 'app', id: appId, appId });
    await recordAudit(ctx, {
      action: 'app.purge',
      target: { kind: 'app', id: appId, label: name },
      before: { name, slug, repositoryUrl },
    });
    ctx.log.info({ appId, actor: ctx.actor }, 'deleted an app permanently');
    return { id: parseId('app', appId), slug, objectKeys };
  });
}

const dueMax = 50;

/** Returns deleted apps whose delay has passed, the oldest first. System scope. */
export async function findDueApps(ctx: SystemCtx): Promise<{ organizationId: OrganizationId; appId: AppId }[]> {
  const rows = await ctx.tx.appDeletion.findMany({
    where: { purgeAt: { lte: ctx.clock.now() } },
    select: { organizationId: true, appId: true },
    orderBy: [{ purgeAt: 'asc' }, { appId: 'asc' }],
    take: dueMax,
  });
  return rows.map((row) => ({
    organizationId: parseId('org', row.organizationId),
    appId: parseId('app', row.appId),
  }));
}
