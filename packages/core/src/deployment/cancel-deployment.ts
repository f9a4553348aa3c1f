// Cancels a deployment on a user's request.

import { AppError, type Ctx } from '../kernel/index.ts';
import { lockApps } from '../placement/index.ts';
import { applyStep } from './apply-step.ts';
import { auditDeployment } from './audit-deployment.ts';
import { isFinished, step } from './machine.ts';
import type { DeploymentRef } from './schema.ts';
import { findDeployment, loadMachine } from './store.ts';

/**
 * Takes effect immediately: the work leaves the servers' desired state, and the former release keeps serving. Servers
 * that have switched already roll back first.
 */
export async function cancelDeployment(ctx: Ctx, input: DeploymentRef): Promise<DeploymentRef> {
  const { deploymentId } = input;
  const seen = await findDeployment(ctx, deploymentId);
  if (seen === null) throw new AppError('deployment.not_found', { deploymentId });
  await lockApps(ctx, [seen.appId]);
  const row = await findDeployment(ctx, deploymentId);
  if (row === null) throw new AppError('deployment.not_found', { deploymentId });
  if (isFinished(row.state) || row.ending !== null) {
    throw new AppError('deployment.already_finished', { deploymentId, state: row.ending ?? row.state });
  }
  const { machine } = await loadMachine(ctx, row);
  await applyStep(ctx, row, step(machine, { kind: 'cancel' }, ctx.clock.now()));
  await auditDeployment(ctx, 'deployment.cancel', {
    id: row.id,
    appId: row.appId,
    number: row.number,
    before: { state: row.state },
    after: { state: 'cancelled' },
  });
  return { deploymentId };
}
