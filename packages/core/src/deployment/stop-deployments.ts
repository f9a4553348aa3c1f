// Ends all unfinished deployments of an app that leaves its servers, in all environments or in one. The caller holds the app's lock, and sends the servers
// their changed state.
import type { Ctx } from '../kernel/index.ts';
import { applyStep } from './apply-step.ts';
import { auditDeployment } from './audit-deployment.ts';
import { isFinished, step } from './machine.ts';
import { deploymentStateSchema } from './schema.ts';
import { findUnfinished, loadMachine } from './store.ts';

const unfinished = deploymentStateSchema.options.filter((state) => !isFinished(state));

/** Returns the servers that build for the app or roll it out. */
export async function stopDeployments(
  ctx: Ctx,
  where: { readonly appId: string; readonly environmentId?: string },
): Promise<string[]> {
  const { appId } = where;
  const serverIds: string[] = [];
  for (const row of await findUnfinished(ctx, where, unfinished)) {
    const { machine } = await loadMachine(ctx, row);
    const { actions, ...stopped } = step(machine, { kind: 'stop' }, ctx.clock.now());
    // The caller locks the servers of all deployments in one order.
    await applyStep(ctx, row, { ...stopped, actions: actions.filter((action) => action === 'free_slot') });
    const { id, number, state } = row;
    const change = { before: { state }, after: { state: stopped.machine.state } };
    await auditDeployment(ctx, 'deployment.cancel', { id, appId, number, ...change });
    serverIds.push(...row.servers.map(({ serverId }) => serverId));
    if (row.buildServerId !== null) serverIds.push(row.buildServerId);
  }
  return serverIds;
}
