// Lists the moves of apps from and to a server.
import { parseId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import {
  activeMoveStates,
  type ListMovesInput,
  moveStateSchema,
  type VolumeMoveList,
  type VolumeMoveView,
} from './schema.ts';
import { loadNames } from './store.ts';

/** Time for which ended moves are listed. */
const endedMs = 7 * 24 * 60 * 60_000;
const movesMax = 100;

/** Returns active moves and those that ended in the last week, the newest first. */
export async function listMoves(ctx: OrganizationCtx, { serverId }: ListMovesInput): Promise<VolumeMoveList> {
  const { tx, organizationId } = ctx;
  const since = new Date(ctx.clock.now().getTime() - endedMs);
  const rows = await tx.volumeMove.findMany({
    where: {
      organizationId,
      AND: [
        { OR: [{ sourceServerId: serverId }, { targetServerId: serverId }] },
        { OR: [{ state: { in: [...activeMoveStates] } }, { finishedAt: { gt: since } }] },
      ],
    },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: movesMax,
    include: {
      app: { select: { name: true, slug: true } },
      snapshots: { include: { volume: { select: { name: true } } }, orderBy: { id: 'asc' } },
      restores: {
        include: {
          volume: { select: { name: true } },
          snapshot: { select: { sizeBytes: true, createdAt: true } },
        },
        orderBy: { id: 'asc' },
      },
    },
  });
  const names = await loadNames(
    ctx,
    rows.flatMap(({ sourceServerId, targetServerId }) => [sourceServerId, targetServerId]),
  );
  const environments = await tx.environment.findMany({
    where: { organizationId, id: { in: rows.map(({ environmentId }) => environmentId) } },
    select: { id: true, name: true },
  });
  const environmentNames = new Map(environments.map(({ id, name }) => [id, name]));
  const items = rows.map(
    (row): VolumeMoveView => ({
      moveId: parseId('vmv', row.id),
      appId: parseId('app', row.appId),
      slug: row.app.slug,
      name: row.app.name,
      environmentId: parseId('env', row.environmentId),
      environmentName: environmentNames.get(row.environmentId) ?? '',
      sourceServerId: parseId('srv', row.sourceServerId),
      sourceName: names.get(row.sourceServerId) ?? null,
      targetServerId: parseId('srv', row.targetServerId),
      targetName: names.get(row.targetServerId) ?? null,
      state: moveStateSchema.parse(row.state),
      isFromSnapshots: row.isFromSnapshots,
      isCancelled: row.isCancelled,
      volumes: row.restores.length > 0 ? row.restores.map(restored) : row.snapshots.map(packed),
      deploymentId: row.deploymentId === null ? null : parseId('dep', row.deploymentId),
      failureMessage: row.failureMessage,
      createdAt: row.createdAt,
      finishedAt: row.finishedAt,
      deleteLeftAt: row.leftReleasedAt === null ? row.deleteLeftAt : null,
    }),
  );
  return { items };
}

type VolumeCopy = VolumeMoveView['volumes'][number];

interface CopyRow {
  readonly volume: { readonly name: string };
  readonly state: string;
  readonly step: string | null;
}

function restored(
  row: CopyRow & { readonly snapshot: { readonly sizeBytes: bigint | null; readonly createdAt: Date } },
) {
  return { ...copyOf(row), sizeBytes: toNumber(row.snapshot.sizeBytes), takenAt: row.snapshot.createdAt };
}

function packed(row: CopyRow & { readonly sizeBytes: bigint | null; readonly createdAt: Date }): VolumeCopy {
  return { ...copyOf(row), sizeBytes: toNumber(row.sizeBytes), takenAt: row.createdAt };
}

function copyOf({ volume, state, step }: CopyRow): Pick<VolumeCopy, 'name' | 'state' | 'step'> {
  return { name: volume.name, state: state === 'running' || state === 'failed' ? state : 'done', step };
}

function toNumber(bytes: bigint | null): number | null {
  return bytes === null ? null : Number(bytes);
}
