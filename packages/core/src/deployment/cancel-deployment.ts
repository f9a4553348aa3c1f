// Owns the early end of a deployment that somebody asked for.
import { AppError, type Ctx } from '../kernel/index.ts';
import { applyStep } from './apply-step.ts';
import { auditDeployment } from './audit.ts';
import { isFinished, step } from './machine.ts';
import type { DeploymentRef } from './schema.ts';
import { requirePlacement } from './start-deployment.ts';
import { findDeployment, lockApps, machineOf } from './store.ts';

/** Takes effect at once: the work leaves the server's desired state, and whatever served before goes on serving. */
export async function cancelDeployment(ctx: Ctx, input: DeploymentRef): Promise<DeploymentRef> {
  const { deploymentId } = input;
  const seen = await findDeployment(ctx, deploymentId);
  if (seen === null) throw new AppError('deployment.not_found', { deploymentId });
  const { serverId } = await requirePlacement(ctx, seen.appId);
  await lockApps(ctx, [seen.appId]);
  const row = await findDeployment(ctx, deploymentId);
  if (row === null) throw new AppError('deployment.not_found', { deploymentId });
  if (isFinished(row.state)) throw new AppError('deployment.already_finished', { deploymentId, state: row.state });
  await applyStep(ctx, row, step(machineOf(row), { kind: 'cancel' }, ctx.clock.now()), { serverId });
  await auditDeployment(ctx, 'deployment.cancel', {
    id: row.id,
    appId: row.appId,
    number: row.number,
    before: { state: row.state },
    after: { state: 'cancelled' },
  });
  return { deploymentId };
}
