// Jobs of the deployment machine.
import { advanceDeployment, failOverdueDeployments } from '@fairlead/core/deployment';
import { endLostUpgrades } from '@fairlead/core/server';
import { releaseDueVolumes } from '@fairlead/core/volume';
import type { Handler } from './handler.ts';

export const advanceDeploymentHandler: Handler<'deployment.advance'> = async (parts, payload) => {
  const { database, workerId, clock, log, buildSlots } = parts;
  const { organizationId, deploymentId } = payload;
  await database.tenant(organizationId, (tx) =>
    advanceDeployment(
      { tx, organizationId, actor: { kind: 'system', reason: 'deployment.advance' }, clock, log },
      { deploymentId, workerId },
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
