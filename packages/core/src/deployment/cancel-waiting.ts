// Cancels queued deployments of an app where it will not run any more. The caller holds the app's lock.
import type { Ctx } from '../kernel/index.ts';
import { applyStep } from './apply-step.ts';
import { auditDeployment } from './audit-deployment.ts';
import { step } from './machine.ts';
import { findUnfinished, loadMachine } from './store.ts';

export async function cancelWaiting(
  ctx: Ctx,
  placement: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  for (const row of await findUnfinished(ctx, placement, ['queued'])) {
    const { machine } = await loadMachine(ctx, row);
    await applyStep(ctx, row, step(machine, { kind: 'cancel' }, ctx.clock.now()));
    const { id, appId, number, state } = row;
    const change = { before: { state }, after: { state: 'cancelled' } };
    await auditDeployment(ctx, 'deployment.cancel', { id, appId, number, ...change });
  }
}
