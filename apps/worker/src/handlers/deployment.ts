// Jobs of the deployment machine.
import {
  advanceDeployment,
  failOverdueDeployments,
  type PrunedDeployments,
  pruneDeployments,
} from '@fairlead/core/deployment';
import { deleteLogs } from '@fairlead/core/log';
import { endLostUpgrades } from '@fairlead/core/server';
import { releaseDueVolumes } from '@fairlead/core/volume';
import { prepareClone } from './clone-token.ts';
import type { Handler } from './handler.ts';

export const advanceDeploymentHandler: Handler<'deployment.advance'> = async (parts, payload) => {
  const { database, workerId, clock, log, buildSlots } = parts;
  const { organizationId, deploymentId } = payload;
  const sourceRefusal = await prepareClone(parts, payload);
  await database.tenant(organizationId, (tx) =>
    advanceDeployment(
      { tx, organizationId, actor: { kind: 'system', reason: 'deployment.advance' }, clock, log },
      { deploymentId, workerId, sourceRefusal },
      buildSlots,
    ),
  );
};

export const sweepDeploymentsHandler: Handler<'deployment.sweep'> = async ({ database, clock, log }) => {
  await database.system('volume.sweep', (tx) => releaseDueVolumes({ tx, clock, log }));
  const lost = await database.system('server.sweep', (tx) => endLostUpgrades({ tx, clock, log }));
  if (lost > 0) log.info({ lost }, 'agent upgrades timed out');
  const { failed, resumed } = await database.system('deployment.sweep', (tx) =>
    failOverdueDeployments({ tx, clock, log }),
  );
  if (failed + resumed > 0) log.info({ failed, resumed }, 'deployments were overdue or had lost their worker');
};

export const pruneDeploymentsHandler: Handler<'deployment.prune'> = async ({ database, logs, clock, log }) => {
  let pruned = 0;
  for (let from: PrunedDeployments['next'] = ''; from !== null; ) {
    const batch: PrunedDeployments = await prune(from);
    // A crash before this line leaves objects that nothing refers to.
    await deleteLogs(logs, batch.objectKeys);
    pruned += batch.count;
    from = batch.next;
  }
  if (pruned > 0) log.info({ pruned }, 'old deployments were deleted');

  function prune(from: string): Promise<PrunedDeployments> {
    return database.system('deployment.prune', (tx) => pruneDeployments({ tx, clock, log }, { from }));
  }
};
