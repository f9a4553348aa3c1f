// Jobs of volumes: their snapshots, and moves of apps with them.
import type { OrganizationId } from '@fairlead/contract/ids';
import { AppError } from '@fairlead/core/kernel';
import { failStuckSnapshots, planSnapshots, pruneSnapshots } from '@fairlead/core/volume';
import {
  advanceMove,
  failMove,
  listActiveMoves,
  releaseLeftVolumes,
  type VolumeMoveRef,
} from '@fairlead/core/volume-move';
import type { Handler, HandlerParts } from './handler.ts';

export const sweepSnapshotsHandler: Handler<'volume.snapshot'> = async ({ database, clock, log }) => {
  const failed = await database.system('volume.snapshot', (tx) => failStuckSnapshots({ tx, clock, log }));
  const requested = await database.system('volume.snapshot', (tx) => planSnapshots({ tx, clock, log }));
  const pruned = await database.system('volume.snapshot', (tx) => pruneSnapshots({ tx, clock, log }));
  if (failed + requested + pruned > 0) log.info({ failed, requested, pruned }, 'took care of snapshots of volumes');
};

export const advanceVolumeMoveHandler: Handler<'volume_move.advance'> = (parts, { organizationId, moveId }) =>
  advance(parts, organizationId, { moveId });

export const sweepVolumeMovesHandler: Handler<'volume_move.sweep'> = async (parts) => {
  const { database, clock, log } = parts;
  await database.system('volume_move.sweep', (tx) => releaseLeftVolumes({ tx, clock, log }));
  const active = await database.system('volume_move.sweep', (tx) => listActiveMoves({ tx, clock, log }));
  for (const { organizationId, moveId } of active) {
    try {
      await advance(parts, organizationId, { moveId });
    } catch (error) {
      // One move must not block the others; the next run resumes it.
      log.error({ err: error, organizationId, moveId }, 'the move of an app could not advance for now');
    }
  }
};

async function advance(
  { database, clock, log }: HandlerParts,
  organizationId: OrganizationId,
  ref: VolumeMoveRef,
): Promise<void> {
  const actor = { kind: 'system', reason: 'volume_move.advance' } as const;
  try {
    await database.tenant(organizationId, (tx) => advanceMove({ tx, organizationId, actor, clock, log }, ref));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await database.tenant(organizationId, (tx) => failMove({ tx, organizationId, actor, clock, log }, ref, error));
  }
}
