// Deletes an app, until it is restored or purged. Its servers stop it; all of its rows stay, hidden by row-level security.
// Invariant: it frees nothing, neither name, hosts nor volumes, so that the app can always be restored.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { endBenchmarks } from '../benchmark/index.ts';
import { stopDeployments } from '../deployment/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange, retention } from '../kernel/index.ts';
import { lockApps } from '../placement/index.ts';
import { bumpServer } from '../server/index.ts';
import type { DeleteAppInput, DeleteAppOutput } from './schema.ts';

/** Its servers stop it as soon as they get the new state. Throws app.not_found and app.confirm_mismatch. */
export async function deleteApp(ctx: Ctx, input: DeleteAppInput): Promise<DeleteAppOutput> {
  const { tx, organizationId } = ctx;
  const { appId } = input;
  await lockApps(ctx, [appId]);
  const app = await tx.app.findFirst({
    where: { id: appId, organizationId },
    select: {
      name: true,
      slug: true,
      repositoryUrl: true,
      placements: { select: { id: true, environmentId: true, servers: { select: { serverId: true } } } },
    },
  });
  if (app === null) throw new AppError('app.not_found', { appId });
  if (app.name !== input.confirmName.trim()) throw new AppError('app.confirm_mismatch', { appId });
  const { name, slug, repositoryUrl, placements } = app;
  const working = await stopDeployments(ctx, { appId });
  await endBenchmarks(ctx, { appId });
  await tx.instance.deleteMany({ where: { appId, organizationId } });
  const serverIds = [...working, ...placements.flatMap(({ servers }) => servers.map(({ serverId }) => serverId))];
  await bumpAll(ctx, serverIds);
  const now = ctx.clock.now();
  const purgeAt = new Date(now.getTime() + retention.deletedAppMs);
  await recordAudit(ctx, {
    action: 'app.delete',
    target: { kind: 'app', id: appId, label: name },
    before: { name, slug, repositoryUrl },
    after: { purgeAt: purgeAt.toISOString() },
  });
  // The last write: it hides the rows that the others change.
  await tx.appDeletion.create({
    data: {
      appId,
      organizationId,
      placementIds: placements.map(({ id }) => id),
      deletedAt: now,
      purgeAt,
      deletedByUserId: actorUserId(ctx.actor),
    },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  ctx.log.info({ appId, actor: ctx.actor }, 'deleted an app');
  return { id: parseId('app', appId), slug, purgeAt };
}

/** Bumps servers in the order in which every transaction locks them. One may be gone since it built for the app. */
export async function bumpAll(ctx: Ctx, serverIds: readonly string[]): Promise<void> {
  const known = await ctx.tx.server.findMany({
    where: { id: { in: [...new Set(serverIds)] }, organizationId: ctx.organizationId },
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  for (const { id } of known) await bumpServer(ctx, id);
}
