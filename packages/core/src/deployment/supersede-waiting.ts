// Supersedes queued deployments of an app and environment: only the newest request counts. The caller holds the app's
// lock.
import type { Ctx } from '../kernel/index.ts';
import { applyStep } from './apply-step.ts';
import { step } from './machine.ts';
import { findUnfinished, loadMachine } from './store.ts';

interface Superseding {
  readonly appId: string;
  readonly environmentId: string;
  /** The newer deployment, once it has a row. */
  readonly newerId?: string;
  /** The newer deployment awaits approval, and must not withdraw an approved one. */
  readonly keepsApproved: boolean;
}

export async function supersedeWaiting(ctx: Ctx, input: Superseding): Promise<void> {
  const { appId, environmentId, newerId, keepsApproved } = input;
  const { tx, organizationId } = ctx;
  const waiting = await findUnfinished(ctx, { appId, environmentId }, ['queued']);
  const ids = waiting.map(({ id }) => id);
  const approved = keepsApproved
    ? await tx.deploymentApproval.findMany({
        where: { organizationId, deploymentId: { in: ids }, state: 'approved' },
        select: { deploymentId: true },
      })
    : [];
  const kept = new Set(approved.map(({ deploymentId }) => deploymentId));
  for (const row of waiting) {
    if (row.id === newerId || kept.has(row.id)) continue;
    const { machine } = await loadMachine(ctx, row);
    await applyStep(ctx, row, step(machine, { kind: 'supersede' }, ctx.clock.now()));
  }
}
