// Checks that no app is on a server, so that the server can be deleted.
import { AppError, type OrganizationCtx, withDeletedApps } from '../kernel/index.ts';
import type { GetServerInput } from './schema.ts';

/** Throws server.in_use with the names of deleted apps, which no page of the server shows and which may come back. */
export async function requireNoApps(ctx: OrganizationCtx, { serverId }: GetServerInput): Promise<void> {
  const { tx, organizationId } = ctx;
  const onServer = await withDeletedApps(ctx, () =>
    tx.app.findMany({
      where: { organizationId, placements: { some: { servers: { some: { serverId } } } } },
      select: { name: true, deletion: { select: { appId: true } } },
      orderBy: { name: 'asc' },
    }),
  );
  if (onServer.length === 0) return;
  const deletedApps = onServer.filter(({ deletion }) => deletion !== null).map(({ name }) => name);
  throw new AppError('server.in_use', { apps: onServer.length - deletedApps.length, deletedApps });
}
