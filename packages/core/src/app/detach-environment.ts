// Removes an app from one of its environments. History, releases, settings and secrets stay, for its return.
// Invariant: it never touches a volume, nor the primary environment.

import { recordAudit } from '../audit/index.ts';
import { endBenchmarks } from '../benchmark/index.ts';
import { cancelWaiting } from '../deployment/index.ts';
import { domainLabel } from '../domain/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import {
  lockApps,
  type PlacementRef,
  requireNoPreview,
  requireNothingUnderWay,
  requirePlacement,
} from '../placement/index.ts';
import { bumpServer } from '../server/index.ts';
import type { DetachEnvironmentInput } from './schema.ts';

/**
 * Removes an app from an environment. Its servers stop it as soon as they get the new state, and its domains there are
 * free again. Throws placement.primary.
 */
export async function detachEnvironment(ctx: Ctx, input: DetachEnvironmentInput): Promise<PlacementRef> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId } = input;
  await lockApps(ctx, [appId]);
  const { id, isPrimary, servers, appName, environmentName } = await requirePlacement(ctx, input);
  await requireNoPreview(ctx, { environmentId });
  if (isPrimary) throw new AppError('placement.primary', { appId });
  if (appName !== input.confirmName.trim()) throw new AppError('app.confirm_mismatch', { appId });
  await requireNothingUnderWay(ctx, { appId, environmentId });
  await cancelWaiting(ctx, { appId, environmentId });
  const placement = { appId, environmentId, organizationId };
  await endBenchmarks(ctx, placement);
  const domains = await tx.domain.findMany({
    where: placement,
    select: { host: true, pathPrefix: true },
    orderBy: [{ host: 'asc' }, { pathPrefix: 'asc' }],
  });
  await tx.domain.deleteMany({ where: placement });
  await tx.instance.deleteMany({ where: placement });
  await tx.placementServer.deleteMany({ where: { placementId: id, organizationId } });
  // Sorts server ids, because every transaction locks servers in this order.
  for (const serverId of servers.map((each) => each.serverId).sort()) await bumpServer(ctx, serverId);
  await recordAudit(ctx, {
    action: 'app.detach_environment',
    target: { kind: 'app', id: appId, label: appName },
    before: {
      environmentId,
      environmentName,
      servers: servers.map(({ serverId }) => serverId),
      domains: domains.map(domainLabel),
    },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, environmentId };
}
