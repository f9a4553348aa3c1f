// Pauses deployments by push for an app. Manual deployments are never paused.
import { recordAudit } from '../audit/index.ts';
import { type Ctx, notifyChange } from '../kernel/index.ts';
import type { PauseDeploysInput, PausedDeploys } from './schema.ts';
import { lockApps, requirePlacement } from './store.ts';

export async function pauseDeploys(ctx: Ctx, input: PauseDeploysInput): Promise<PausedDeploys> {
  const { appId, paused } = input;
  await lockApps(ctx, [appId]);
  const { id, environmentId, appName, deploysPausedAt } = await requirePlacement(ctx, input);
  await ctx.tx.placement.updateMany({
    where: { id, organizationId: ctx.organizationId },
    data: { deploysPausedAt: paused ? (deploysPausedAt ?? ctx.clock.now()) : null },
  });
  await recordAudit(ctx, {
    action: 'deployment.pause',
    target: { kind: 'app', id: appId, label: appName },
    before: { paused: deploysPausedAt !== null },
    after: { paused, environmentId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, paused };
}
