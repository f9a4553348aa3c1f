// Adds servers to an app's placement, and removes them.
// Invariant: it never deploys; the server gets the app with the next deployment.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { requirePlace } from '../config/index.ts';
import { lockApps, requireNothingUnderWay } from '../deployment/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServer, hasServer } from '../server/index.ts';
import type { AttachServerInput, DetachServerInput, PlacedServerRef } from './schema.ts';

/** Adds a server to a placement that exists. */
export async function attachServer(ctx: Ctx, input: AttachServerInput): Promise<PlacedServerRef> {
  const { tx, organizationId } = ctx;
  const { appId, serverId } = input;
  await lockApps(ctx, [appId]);
  const place = await requirePlace(ctx, input);
  if (!(await hasServer(ctx, input))) {
    throw new AppError('server.not_found', { serverId });
  }
  const { environmentId, branch, instances, deploysPausedAt } = place;
  await requireNothingUnderWay(ctx, { appId, environmentId });
  if (place.servers.some((each) => each.serverId === serverId)) {
    throw new AppError('placement.already', { appId, serverId });
  }
  const newest = await tx.placement.findFirstOrThrow({
    where: { appId, environmentId, organizationId },
    select: { createdAt: true },
    orderBy: { createdAt: 'desc' },
  });
  // The oldest row is the first server: two in one millisecond must not change places.
  const createdAt = new Date(Math.max(ctx.clock.now().getTime(), newest.createdAt.getTime() + 1));
  const row = { appId, environmentId, serverId, branch, instances, deploysPausedAt, createdAt };
  await tx.placement.create({ data: { ...row, id: newId('plc'), organizationId } });
  await recordAudit(ctx, {
    action: 'app.attach_server',
    target: { kind: 'app', id: appId, label: place.appName },
    after: { environmentId, serverId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, environmentId, serverId };
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
