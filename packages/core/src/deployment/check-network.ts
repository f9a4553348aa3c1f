// Checks that a release opens nothing of a server's network that was closed while its deployment waited.
import { findNewestConfig, isWithinNetwork, loadSettings } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { Failure } from './machine.ts';
import type { DeploymentRow } from './store.ts';

/** Returns the failure that the deployment ends with. The app is locked. */
export async function checkNetwork(
  ctx: OrganizationCtx,
  { row, releaseId }: { readonly row: DeploymentRow; readonly releaseId: string },
): Promise<Failure | null> {
  const { appId, environmentId, queuedAt } = row;
  const release = await ctx.tx.release.findFirstOrThrow({
    where: { id: releaseId, organizationId: ctx.organizationId },
    select: { configId: true },
  });
  const { settings } = await findNewestConfig(ctx, row);
  if (isWithinNetwork(await loadSettings(ctx, release.configId), settings)) return null;
  // The permission was checked against the settings of that moment: only what they lost since is new.
  const requested = await findNewestConfig(ctx, { appId, environmentId, before: queuedAt });
  return isWithinNetwork(requested.settings, settings) ? null : { code: 'deployment.network_closed', message: null };
}
