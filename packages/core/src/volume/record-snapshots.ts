// Records servers' reports of their snapshots.
// Invariant: a snapshot counts only if the artifact store has its bytes, with the digest that this server uploaded.
import { type VolumeTaskStatus, WorkState } from '@fairlead/contract/agent';
import { errorTable } from '@fairlead/contract/errors';
import { parseId } from '@fairlead/contract/ids';
import { advanceVolumeMoveJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import { clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';

/** Far more than a server gets at a time. */
const tasksMax = 1000;

export interface ReportedSnapshots {
  readonly serverId: string;
  readonly statuses: readonly VolumeTaskStatus[];
}

interface SnapshotRow {
  readonly id: string;
  readonly step: string | null;
  readonly digest: string | null;
  readonly appId: string;
  readonly moveId: string | null;
}

/** Ignores tasks of other servers, and those that have ended: a report repeats until the server has seen the end. */
export async function recordSnapshots(ctx: OrganizationCtx, { serverId, statuses }: ReportedSnapshots): Promise<void> {
  const { tx, organizationId } = ctx;
  const ids = statuses.slice(0, tasksMax).map(({ taskId }) => taskId);
  const rows: SnapshotRow[] = await tx.volumeSnapshot.findMany({
    where: { organizationId, serverId, state: 'running', id: { in: ids } },
    select: { id: true, step: true, digest: true, appId: true, moveId: true },
    orderBy: { id: 'asc' },
  });
  for (const row of rows) {
    const status = statuses.find(({ taskId }) => taskId === row.id);
    if (status === undefined) continue;
    if (status.state === WorkState.RUNNING) {
      if (status.step === row.step) continue;
      await update(ctx, row, { step: clipText(status.step, 20) });
    } else {
      await update(ctx, row, await outcomeOf(ctx, row, status));
      await bumpServer(ctx, serverId);
      if (row.moveId !== null) {
        const payload = { organizationId, moveId: parseId('vmv', row.moveId) };
        await enqueue(tx, advanceVolumeMoveJob, payload, { key: `volume_move.advance:${row.moveId}` });
      }
    }
    await notifyChange(ctx, { kind: 'app', id: row.appId, appId: row.appId });
    if (row.moveId !== null) await notifyChange(ctx, { kind: 'server', id: serverId });
  }
}

async function outcomeOf({ tx, organizationId, clock }: OrganizationCtx, row: SnapshotRow, status: VolumeTaskStatus) {
  const finishedAt = clock.now();
  const { digest } = row;
  if (status.state === WorkState.SUCCEEDED && digest !== null && digest === status.digest) {
    const artifact = await tx.artifact.findFirst({
      where: { organizationId, digest, kind: 'volume' },
      select: { sizeBytes: true },
    });
    if (artifact !== null) return { state: 'stored', step: null, sizeBytes: artifact.sizeBytes, finishedAt };
  }
  const reported = status.state === WorkState.SUCCEEDED ? '' : clipText(status.failure?.message ?? '', 1000);
  return {
    state: 'failed',
    finishedAt,
    failureMessage: reported || errorTable['snapshot.not_uploaded'].message,
  };
}

async function update({ tx, organizationId }: OrganizationCtx, { id }: SnapshotRow, data: object): Promise<void> {
  await tx.volumeSnapshot.updateMany({ where: { id, organizationId, state: 'running' }, data });
}
