// Enqueues the job that advances a move.
import { parseId } from '@fairlead/contract/ids';
import { advanceVolumeMoveJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import type { OrganizationCtx } from '../kernel/index.ts';

/** A job that already waits is not enqueued again. */
export async function enqueueMove({ tx, organizationId }: OrganizationCtx, moveId: string): Promise<void> {
  const payload = { organizationId, moveId: parseId('vmv', moveId) };
  await enqueue(tx, advanceVolumeMoveJob, payload, { key: `volume_move.advance:${moveId}` });
}
