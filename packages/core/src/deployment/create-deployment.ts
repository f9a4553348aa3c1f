// Creates a deployment for a git ref or an uploaded folder, and enqueues it.

import { findNewestConfig } from '../config/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { requireNoPreview, requirePlacement } from '../placement/index.ts';
import { triggerOf } from './requester.ts';
import type { CreateDeploymentInput, DeploymentRef } from './schema.ts';
import { type DeploymentRights, startDeployment } from './start-deployment.ts';

/** Deploys the newest commit of a ref; without one, of the branch the app follows. */
export async function createDeployment(
  ctx: Ctx,
  input: CreateDeploymentInput,
  rights: DeploymentRights = {},
): Promise<DeploymentRef> {
  const { appId, uploadDigest, withoutCache } = input;
  const { environmentId, serverId, branch } = await requirePlacement(ctx, {
    appId,
    environmentId: input.environmentId,
  });
  // Else a commit of a fork could be built without its approval.
  await requireNoPreview(ctx, { environmentId });
  if (uploadDigest !== undefined) await requireUpload(ctx, uploadDigest);
  else await requireSource(ctx, { appId, environmentId });
  const deploymentId = await startDeployment(ctx, {
    appId,
    environmentId,
    serverId,
    trigger: uploadDigest === undefined ? triggerOf(ctx.actor) : 'upload',
    ref: uploadDigest === undefined ? (input.ref ?? branch) : uploadDigest.slice(0, 19),
    release: null,
    uploadDigest,
    withoutCache,
    rights,
  });
  return { deploymentId };
}

/** Requires a repository, or an image in the settings. */
async function requireSource(
  ctx: Ctx,
  placement: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  const { appId } = placement;
  const where = { id: appId, organizationId: ctx.organizationId };
  const app = await ctx.tx.app.findFirstOrThrow({ where, select: { repositoryUrl: true } });
  if (app.repositoryUrl !== '') return;
  const { settings } = await findNewestConfig(ctx, placement);
  if (settings.builder !== 'image') throw new AppError('deployment.no_source', { appId });
}

/** Requires an upload of this organization; another one's digest counts as missing. */
async function requireUpload(ctx: Ctx, digest: string): Promise<void> {
  const where = { organizationId: ctx.organizationId, digest, kind: 'upload' };
  // Marks the upload as needed, so that it is not pruned while the deployment waits.
  const { count } = await ctx.tx.artifact.updateMany({ where, data: { unneededSince: null } });
  if (count === 0) throw new AppError('artifact.not_found', { digest });
}
