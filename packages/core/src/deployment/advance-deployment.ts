// Owns the step that a worker takes with a deployment. Decisions are the machine's.
import type { Ctx } from '../kernel/index.ts';
import { applyStep } from './apply-step.ts';
import { awaitsApproval } from './approval.ts';
import { checkSecrets, takeSecrets } from './check-secrets.ts';
import { isFinished, step } from './machine.ts';
import { requirePlacement } from './start-deployment.ts';
import { findDeployment, findUnfinished, lockApps, machineOf } from './store.ts';

export interface AdvanceInput {
  readonly deploymentId: string;
  /** Takes the lease. */
  readonly workerId: string;
}

/**
 * Sets a waiting deployment going, or tells the server again about one whose lease was lost. Safe to run twice and at the
 * same time: the app is locked, and everything that is decided is in this transaction.
 */
export async function advanceDeployment(ctx: Ctx, input: AdvanceInput): Promise<void> {
  const seen = await findDeployment(ctx, input.deploymentId);
  // Deleted with its app since it was enqueued.
  if (seen === null || isFinished(seen.state)) return;
  await lockApps(ctx, [seen.appId]);
  const row = await findDeployment(ctx, input.deploymentId);
  if (row === null || isFinished(row.state)) return;

  const { appId, environmentId } = row;
  const { serverId } = await requirePlacement(ctx, appId);
  const underWay = await findUnfinished(ctx, { appId, environmentId }, ['building', 'rolling_out']);
  const release =
    row.releaseId === null
      ? null
      : await ctx.tx.release.findFirst({
          where: { id: row.releaseId, organizationId: ctx.organizationId },
          select: { builtOnServerId: true, secretSnapshotId: true },
        });
  // Before a build that could not be rolled out; what a release runs with was chosen when it was made.
  const refusal =
    release === null
      ? (await takeSecrets(ctx, { appId, environmentId, serverId })).failure
      : await checkSecrets(ctx, serverId, release.secretSnapshotId);
  const result = step(
    machineOf(row),
    {
      kind: 'advance',
      blocked: underWay.some(({ id }) => id !== row.id) || (await awaitsApproval(ctx, row.id)),
      artifactHere: release?.builtOnServerId === serverId,
      refusal,
    },
    ctx.clock.now(),
  );
  if (result.machine.state === 'queued') return;
  await applyStep(ctx, row, result, { serverId, leaseOwner: input.workerId });
}
