// Restores of snapshots on the target of a move: creates them, and records what the server reports.
import { type VolumeTaskStatus, WorkState } from '@fairlead/contract/agent';
import { newId } from '@fairlead/contract/ids';
import { clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';
import { enqueueMove } from './enqueue-move.ts';

export interface RestoredSnapshot {
  readonly id: string;
  readonly volumeId: string;
}

export async function createRestores(
  { tx, organizationId }: OrganizationCtx,
  input: { readonly moveId: string; readonly serverId: string; readonly snapshots: readonly RestoredSnapshot[] },
): Promise<void> {
  const { moveId, serverId, snapshots } = input;
  await tx.volumeRestore.createMany({
    data: snapshots.map(({ id, volumeId }) => ({
      id: newId('vtk'),
      organizationId,
      moveId,
      volumeId,
      snapshotId: id,
      serverId,
    })),
  });
}

/** Far more than a server gets at a time. */
const tasksMax = 1000;

export interface ReportedTasks {
  readonly serverId: string;
  readonly statuses: readonly VolumeTaskStatus[];
}

/** Ignores tasks of other servers, and those that have ended: a report repeats until the server has seen the end. */
export async function recordRestores(ctx: OrganizationCtx, { serverId, statuses }: ReportedTasks): Promise<void> {
  const { tx, organizationId } = ctx;
  const ids = statuses.slice(0, tasksMax).map(({ taskId }) => taskId);
  const rows = await tx.volumeRestore.findMany({
    where: { organizationId, serverId, state: 'running', id: { in: ids }, move: { state: 'restoring' } },
    select: { id: true, step: true, moveId: true, move: { select: { appId: true, sourceServerId: true } } },
    orderBy: { id: 'asc' },
  });
  for (const row of rows) {
    const status = statuses.find(({ taskId }) => taskId === row.id);
    if (status === undefined) continue;
    const { state, step, failure } = status;
    const isRunning = state === WorkState.RUNNING;
    if (isRunning && step === row.step) continue;
    const isDone = state === WorkState.SUCCEEDED;
    await tx.volumeRestore.updateMany({
      where: { id: row.id, organizationId, state: 'running' },
      data: {
        step: clipText(step, 20),
        ...(isRunning ? {} : { state: isDone ? 'done' : 'failed' }),
        ...(isRunning || isDone ? {} : { failureMessage: clipText(failure?.message ?? '', 1000) || null }),
      },
    });
    if (!isRunning) {
      await bumpServer(ctx, serverId);
      await enqueueMove(ctx, row.moveId);
    }
    await notifyChange(ctx, { kind: 'server', id: row.move.sourceServerId });
    await notifyChange(ctx, { kind: 'app', id: row.move.appId, appId: row.move.appId });
  }
}
