// Adds servers to an app's placement, and removes them.
// Invariant: it never deploys; the server gets the app with the next deployment.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { findNewestConfig, requirePlace } from '../config/index.ts';
import { lockApps, requireNothingUnderWay } from '../deployment/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServer, hasServer } from '../server/index.ts';
import { keepVolumes } from '../volume/index.ts';
import type { AttachServerInput, DetachServerInput, PlacedServerRef } from './schema.ts';

/**
 * Adds a server. In an environment where the app does not run yet, it is the first, with the settings of the app's
 * primary environment.
 */
export async function attachServer(ctx: Ctx, input: AttachServerInput): Promise<PlacedServerRef> {
  const { tx, organizationId } = ctx;
  const { appId, serverId } = input;
  await lockApps(ctx, [appId]);
  const home = await requirePlace(ctx, { appId });
  if (!(await hasServer(ctx, input))) {
    throw new AppError('server.not_found', { serverId });
  }
  const environmentId = input.environmentId ?? home.environmentId;
  await requireEnvironmentOf(ctx, appId, environmentId);
  await requireNothingUnderWay(ctx, { appId, environmentId });
  const rows = await tx.placement.findMany({
    where: { appId, environmentId, organizationId },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (rows.some((row) => row.serverId === serverId)) throw new AppError('placement.already', { appId, serverId });
  const [first] = rows;
  const now = ctx.clock.now();
  const newest = rows.at(-1)?.createdAt.getTime() ?? 0;
  await tx.placement.create({
    data: {
      id: newId('plc'),
      organizationId,
      appId,
      environmentId,
      serverId,
      branch: first?.branch ?? input.branch ?? home.branch,
      instances: first?.instances ?? home.instances,
      deploysPausedAt: first?.deploysPausedAt ?? null,
      // The oldest row is the first server: two in one millisecond must not change places.
      createdAt: new Date(Math.max(now.getTime(), newest + 1)),
    },
  });
  if (first === undefined) {
    await copySettings(ctx, home, environmentId);
    await keepVolumes(ctx, { appId, environmentId });
  }
  await recordAudit(ctx, {
    action: 'app.attach_server',
    target: { kind: 'app', id: appId, label: home.appName },
    after: { environmentId, serverId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, environmentId: parseId('env', environmentId), serverId };
}

/** Removes a server; it stops the app as soon as it gets the new state. */
export async function detachServer(ctx: Ctx, input: DetachServerInput): Promise<PlacedServerRef> {
  const { tx, organizationId } = ctx;
  const { appId, serverId } = input;
  await lockApps(ctx, [appId]);
  const { environmentId, servers, appName } = await requirePlace(ctx, input);
  if (!servers.some((each) => each.serverId === serverId)) throw new AppError('placement.missing', { appId, serverId });
  if (servers.length === 1) throw new AppError('placement.last', { appId });
  await requireNothingUnderWay(ctx, { appId, environmentId });
  const removed = await tx.placement.findFirst({
    where: { appId, environmentId, serverId, organizationId },
    select: { createdAt: true },
  });
  await tx.placement.deleteMany({ where: { appId, environmentId, serverId, organizationId } });
  await tx.instance.deleteMany({ where: { appId, environmentId, serverId, organizationId } });
  await passOnAge(ctx, { appId, environmentId }, removed?.createdAt);
  await bumpServer(ctx, serverId);
  await recordAudit(ctx, {
    action: 'app.detach_server',
    target: { kind: 'app', id: appId, label: appName },
    before: { environmentId, serverId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, environmentId, serverId };
}

/** The oldest row is where the app was made: its next server there takes over its age, so that this stays in its environment. */
async function passOnAge(
  { tx, organizationId }: Ctx,
  place: { readonly appId: string; readonly environmentId: string },
  age: Date | undefined,
): Promise<void> {
  const first = await tx.placement.findFirst({
    where: { ...place, organizationId },
    select: { id: true, createdAt: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (first === null || age === undefined || first.createdAt <= age) return;
  await tx.placement.updateMany({ where: { id: first.id, organizationId }, data: { createdAt: age } });
}

/** Requires that the environment belongs to the app's own project. */
async function requireEnvironmentOf(ctx: Ctx, appId: string, environmentId: string): Promise<void> {
  const { organizationId } = ctx;
  const app = await ctx.tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { projectId: true } });
  const where = { id: environmentId, organizationId, projectId: app.projectId };
  if ((await ctx.tx.environment.count({ where })) === 0) {
    throw new AppError('environment.not_found', { environmentId });
  }
}

async function copySettings(
  ctx: Ctx,
  home: { readonly appId: string; readonly environmentId: string },
  environmentId: string,
): Promise<void> {
  const { id, settings } = await findNewestConfig(ctx, home);
  const { appId } = home;
  // A volume of the same name in another environment is another folder, so the settings can be taken as they are.
  if (id === null || (await findNewestConfig(ctx, { appId, environmentId })).id !== null) return;
  await ctx.tx.appConfig.create({
    data: {
      id: newId('cfg'),
      organizationId: ctx.organizationId,
      appId,
      environmentId,
      number: 1,
      settings,
      authorUserId: actorUserId(ctx.actor),
      createdAt: ctx.clock.now(),
    },
  });
}
