// Returns the drain of a server: its start, its author, the apps that are still there, and those that it builds.
import { AppError, type Ctx } from '../kernel/index.ts';
import { listBuildingApps } from './building-apps.ts';
import { loadDrainedApps } from './drained-apps.ts';
import type { ServerDrain, ServerDrainInput } from './schema.ts';

/** Throws server.not_found. */
export async function getDrain(ctx: Ctx, input: ServerDrainInput): Promise<ServerDrain> {
  const { serverId } = input;
  const { tx, organizationId } = ctx;
  const server = await tx.server.findFirst({
    where: { id: serverId, organizationId },
    select: { drainedAt: true, drainedByUserId: true },
  });
  if (server === null) throw new AppError('server.not_found', { serverId });
  const author = server.drainedByUserId;
  const user = author === null ? null : await tx.user.findFirst({ where: { id: author }, select: { name: true } });
  const apps = await loadDrainedApps(ctx, input);
  const runs = new Set(apps.map(({ appId, environmentId }) => `${appId} ${environmentId}`));
  const built = await listBuildingApps(ctx, { serverId });
  const builds = built.filter(({ appId, environmentId }) => !runs.has(`${appId} ${environmentId}`));
  return { drainedAt: server.drainedAt, drainedBy: user?.name ?? null, apps, builds };
}
