// Returns the drain of a server: its start, its author, and the apps that are still there.
import { AppError, type Ctx } from '../kernel/index.ts';
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
  return { drainedAt: server.drainedAt, drainedBy: user?.name ?? null, apps: await loadDrainedApps(ctx, input) };
}
