// Loads the tasks on volumes of a server, and the apps that are away from it while their volumes are copied.
import type { OrganizationCtx } from '../kernel/index.ts';
import { placementKey } from './stored-release.ts';
import type { VolumeTaskRow } from './to-desired-state.ts';

export async function loadVolumeTasks(
  { tx, organizationId }: OrganizationCtx,
  serverId: string,
): Promise<VolumeTaskRow[]> {
  const volume = { select: { appId: true, environmentId: true, name: true } } as const;
  const running = { organizationId, serverId, state: 'running' };
  const orderBy = { id: 'asc' } as const;
  const snapshots = await tx.volumeSnapshot.findMany({
    where: running,
    select: { id: true, moveId: true, volume },
    orderBy,
  });
  const restores = await tx.volumeRestore.findMany({
    where: { ...running, move: { state: 'restoring' }, snapshot: { state: 'stored' } },
    select: { id: true, volume, snapshot: { select: { digest: true } } },
    orderBy,
  });
  return [
    ...snapshots.map(({ id, moveId, ...row }) => ({
      taskId: id,
      volume: row.volume,
      action: { kind: 'snapshot', stopped: moveId !== null } as const,
    })),
    ...restores.map(({ id, snapshot, ...row }) => ({
      taskId: id,
      volume: row.volume,
      action: { kind: 'restore', digest: snapshot.digest ?? '' } as const,
    })),
  ];
}

/** Returns keys of placements. The app is moving to another server, and must not write to the volumes of this one. */
export async function loadAway(
  { tx, organizationId }: OrganizationCtx,
  serverId: string,
): Promise<ReadonlySet<string>> {
  const rows = await tx.volumeMove.findMany({
    where: { organizationId, sourceServerId: serverId, state: { in: ['copying', 'restoring', 'deploying'] } },
    select: { appId: true, environmentId: true },
  });
  return new Set(rows.map(placementKey));
}
