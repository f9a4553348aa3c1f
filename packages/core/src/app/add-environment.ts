// Adds an app to a further environment: the environment, servers, branch, domain and first deployment.
// Invariant: the caller's transaction holds all of it, so an app is never added in part.
import { type EnvironmentId, newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { findNewestConfig } from '../config/index.ts';
import { createDeployment, promoteRelease } from '../deployment/index.ts';
import { type AppLinks, attachDomain, type HostPolicy } from '../domain/index.ts';
import { createEnvironment } from '../environment/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { createPlacement, lockApps, type Placement, type PlacementRef, requirePlacement } from '../placement/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { keepVolumes } from '../volume/index.ts';
import type { AddEnvironmentInput, AddedEnvironment } from './schema.ts';

/**
 * The app starts with the settings of the primary environment, or with its former ones if it returns to an environment.
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
  const primary = await requirePlacement(ctx, { appId });
  const environmentId = await environmentOf(ctx, input);
  const placement = { appId, environmentId };
  const { branch = primary.branch } = input;
  const { instances } = primary;
  await createPlacement(ctx, { ...placement, branch, instances, isPrimary: false, serverIds });
  await copySettings(ctx, primary, environmentId);
  await keepVolumes(ctx, placement);
  await recordAudit(ctx, {
    action: 'app.add_environment',
    target: { kind: 'app', id: appId, label: primary.appName },
    after: { environmentId, serverIds, branch },
  });
  if (domain !== undefined) await attachDomain(ctx, { ...placement, ...domain }, config, reach);
  const deploymentId = await deployFirst(ctx, placement, input.firstDeploy);
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { ...placement, deploymentId };
}

/** Returns the named environment, or creates one in the app's project. */
async function environmentOf(ctx: Ctx, { appId, environment }: AddEnvironmentInput): Promise<EnvironmentId> {
  if (environment.kind === 'existing') return environment.environmentId;
  const { tx, organizationId } = ctx;
  const app = await tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { projectId: true } });
  const { name, protected: isProtected } = environment;
  const projectId = parseId('prj', app.projectId);
  return (await createEnvironment(ctx, { projectId, name, protected: isProtected })).environmentId;
}

async function deployFirst(ctx: Ctx, placement: PlacementRef, first: AddEnvironmentInput['firstDeploy']) {
  if (first === 'none') return null;
  if (first === 'deploy') return (await createDeployment(ctx, placement)).deploymentId;
  const { releaseId } = first;
  const where = { id: releaseId, appId: placement.appId, organizationId: ctx.organizationId };
  if ((await ctx.tx.release.count({ where })) === 0) throw new AppError('release.not_found', { releaseId });
  return (await promoteRelease(ctx, { environmentId: placement.environmentId, releaseId })).deploymentId;
}

async function copySettings(ctx: Ctx, primary: Placement, environmentId: EnvironmentId): Promise<void> {
  const { appId } = primary;
  const { id, settings } = await findNewestConfig(ctx, primary);
  // Volumes of the same name in two environments are separate folders, so the settings need no change.
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
