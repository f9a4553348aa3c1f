// Adds an app to a further environment: the environment, servers, branch, domain and first deployment.
// Invariant: the caller's transaction holds all of it, so an app is never added in part.
import { type EnvironmentId, newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { findNewestConfig, type Place, requirePlace } from '../config/index.ts';
import { createDeployment, lockApps, promoteRelease } from '../deployment/index.ts';
import { type AppLinks, attachDomain, type HostPolicy } from '../domain/index.ts';
import { createEnvironment } from '../environment/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { keepVolumes } from '../volume/index.ts';
import { attachServer } from './attach-server.ts';
import { createPlacement, requireServers } from './create-placement.ts';
import type { AddEnvironmentInput, AddedEnvironment, PlaceRef } from './schema.ts';

/**
 * It begins with the settings of the primary environment; on its return to an environment, with those that it had there.
 * `reach`: scopes where the caller may write domains.
 */
export async function addEnvironment(
  ctx: Ctx,
  input: AddEnvironmentInput,
  config: AppLinks & HostPolicy,
  reach: Reach = wholeReach,
): Promise<AddedEnvironment> {
  const { appId, domain, serverIds } = input;
  await lockApps(ctx, [appId]);
  const home = await requirePlace(ctx, { appId });
  await requireServers(ctx, serverIds);
  const environmentId = await environmentOf(ctx, input);
  const place = { appId, environmentId };
  const [serverId = '', ...others] = serverIds;
  const branch = input.branch ?? home.branch;
  await createPlacement(ctx, { ...place, serverId, branch, instances: home.instances });
  await copySettings(ctx, home, environmentId);
  await keepVolumes(ctx, place);
  await recordAudit(ctx, {
    action: 'app.add_environment',
    target: { kind: 'app', id: appId, label: home.appName },
    after: { environmentId, serverId, branch },
  });
  for (const other of others) await attachServer(ctx, { ...place, serverId: other });
  if (domain !== undefined) await attachDomain(ctx, { ...place, ...domain }, config, reach);
  const deploymentId = await deployFirst(ctx, place, input.firstDeploy);
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { ...place, deploymentId };
}

/** Requires an environment of the app's own project where it does not run yet, or creates it. */
async function environmentOf(ctx: Ctx, { appId, environment }: AddEnvironmentInput): Promise<EnvironmentId> {
  const { tx, organizationId } = ctx;
  const { projectId } = await tx.app.findFirstOrThrow({
    where: { id: appId, organizationId },
    select: { projectId: true },
  });
  if (environment.kind === 'new') {
    const { name, protected: isProtected } = environment;
    return (await createEnvironment(ctx, { projectId: parseId('prj', projectId), name, protected: isProtected }))
      .environmentId;
  }
  const { environmentId } = environment;
  if ((await tx.environment.count({ where: { id: environmentId, organizationId, projectId } })) === 0) {
    throw new AppError('environment.not_found', { environmentId });
  }
  if ((await tx.placement.count({ where: { appId, environmentId, organizationId } })) > 0) {
    throw new AppError('placement.exists', { appId, environmentId });
  }
  return environmentId;
}

async function deployFirst(ctx: Ctx, place: PlaceRef, first: AddEnvironmentInput['firstDeploy']) {
  if (first === 'none') return null;
  if (first === 'deploy') return (await createDeployment(ctx, place)).deploymentId;
  const { releaseId } = first;
  const where = { id: releaseId, appId: place.appId, organizationId: ctx.organizationId };
  if ((await ctx.tx.release.count({ where })) === 0) throw new AppError('release.not_found', { releaseId });
  return (await promoteRelease(ctx, { environmentId: place.environmentId, releaseId })).deploymentId;
}

async function copySettings(ctx: Ctx, home: Place, environmentId: EnvironmentId): Promise<void> {
  const { appId } = home;
  const { id, settings } = await findNewestConfig(ctx, home);
  // A volume of the same name in another environment is another folder, so the settings can be taken as they are.
  if (id === null || (await findNewestConfig(ctx, { appId, environmentId })).id !== null) return;
  await ctx.tx.appConfig.create({
    data: {
      id: newId('cfg'),
      organizationId: ctx.organizationId,
      appId,
      environmentId,
      number: 1,
      settings,
      authorUserId: actorUserId(ctx.actor),
      createdAt: ctx.clock.now(),
    },
  });
}
