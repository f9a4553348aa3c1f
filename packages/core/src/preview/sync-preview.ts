// Updates a preview to its pull request: state, environment and deployment.
// Invariant: it starts a deployment only for a commit that `previewStateOf` allows, and once for each.
import { type DeploymentId, newId } from '@fairlead/contract/ids';
import { startDeployment } from '../deployment/index.ts';
import { copyGuards } from '../domain/index.ts';
import { touchComment } from '../github/index.ts';
import { type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServersOf, findPlacement, withoutDrained } from '../placement/index.ts';
import { copySettings, createPreviewEnvironment } from './create-preview-environment.ts';
import { previewStateOf } from './decide-preview.ts';
import type { PreviewState } from './schema.ts';
import { findPolicy, findSource, isLinked, type PreviewRow, type PreviewSource } from './store.ts';

export interface SyncedPreview {
  readonly state: PreviewState;
  /** Why it failed, or what is missing; empty: nothing. */
  readonly problem: string;
  /** Deployment that was started; null for none. */
  readonly deploymentId: DeploymentId | null;
}

/** The app is locked. Deletes no environment: `sweep-previews.ts` does, with the logs. */
export async function syncPreview(ctx: Ctx, row: PreviewRow): Promise<SyncedPreview> {
  const { tx, organizationId } = ctx;
  const { appId } = row;
  const policy = await findPolicy(ctx, row);
  const source = policy === null ? null : await findSource(ctx, { appId, environmentId: policy.environmentId });
  const state = previewStateOf(row, policy, {
    now: ctx.clock.now(),
    isLinked: await isLinked(ctx, row),
    hasBaseDomain: source?.placement === null || source?.baseDomain !== null,
    previews: await tx.preview.count({ where: { appId, organizationId, environmentId: { not: null } } }),
  });
  const { environmentId, ...synced } =
    state === 'active' ? await deploy(ctx, row, source) : { ...unchanged(row, state) };
  await tx.preview.updateMany({
    where: { id: row.id, organizationId },
    data: {
      state: synced.state,
      problem: synced.problem,
      environmentId,
      ...(synced.state === 'active' ? { deployedHash: row.headHash } : {}),
    },
  });
  const { state: before, problem } = row;
  if (synced.deploymentId !== null || synced.state !== before || synced.problem !== problem) {
    await touchComment(ctx, row.id);
    await notifyChange(ctx, { kind: 'app', id: appId, appId });
  }
  return synced;
}

interface Outcome extends SyncedPreview {
  readonly environmentId: string | null;
}

const isProtected = 'The environment that previews use is protected. Choose another one for them.';
const noBaseDomain = 'The server has no base domain, so the preview has no name. Set one on the page of the server.';

function unchanged({ environmentId }: PreviewRow, state: PreviewState, problem?: string): Outcome {
  return { state, problem: problem ?? (state === 'unnamed' ? noBaseDomain : ''), deploymentId: null, environmentId };
}

async function deploy(ctx: Ctx, row: PreviewRow, from: PreviewSource | null): Promise<Outcome> {
  const { appId, headHash } = row;
  const source = from?.placement ?? null;
  if (from?.isProtected === true) return unchanged(row, 'failed', isProtected);
  if (source === null) return unchanged(row, 'failed', 'The app has left the environment that its previews use.');
  const own = row.environmentId === null ? null : await findPlacement(ctx, { appId, environmentId: row.environmentId });
  // Nothing below fails, so no environment stays incomplete.
  if (withoutDrained(own ?? source) === null) return unchanged(row, 'failed', 'The server of the preview is drained.');
  if (own !== null && row.deployedHash === headHash) return unchanged(row, 'active');
  const environmentId = own?.environmentId ?? (await createPreviewEnvironment(ctx, row, source));
  if (own !== null) {
    await copySettings(ctx, source, environmentId);
    await copyGuards(ctx, own);
    await bumpServersOf(ctx, own);
  }
  // Precedes the deployment: its report finds the preview by the environment.
  await ctx.tx.preview.updateMany({
    where: { id: row.id, organizationId: ctx.organizationId },
    data: { environmentId },
  });
  const deploymentId = await startDeployment(ctx, {
    id: newId('dep'),
    appId,
    environmentId,
    serverId: own?.serverId ?? source.serverId,
    trigger: 'pull_request',
    ref: headHash,
    branch: row.headRef,
    release: null,
    requestedByUserId: row.isFork ? row.approvedByUserId : null,
    commit: { hash: headHash, subject: row.title, author: row.author },
  });
  return { state: 'active', problem: '', deploymentId, environmentId };
}
