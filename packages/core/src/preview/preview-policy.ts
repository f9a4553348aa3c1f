// Policy of an app's previews: on or off, the environment that they use, and their limits.
import { type EnvironmentId, newId, parseId } from '@fairlead/contract/ids';
import { changedFields, recordAudit } from '../audit/index.ts';
import { findNewestConfig } from '../config/index.ts';
import { createEnvironment } from '../environment/index.ts';
import { AppError, actorUserId, type Ctx, firstFreeSlug, notifyChange } from '../kernel/index.ts';
import { createPlacement, lockApps, type Placement, requirePlacement } from '../placement/index.ts';
import {
  type PreviewPolicyView,
  type PreviewsOf,
  type UpdatePreviewPolicyInput,
  updatePreviewPolicyInputSchema,
} from './schema.ts';
import { findPolicy, findSource, isLinked, loadPreviews } from './store.ts';
import { syncPreview } from './sync-preview.ts';

export async function getPreviewPolicy(ctx: Ctx, { appId }: PreviewsOf): Promise<PreviewPolicyView> {
  const policy = await findPolicy(ctx, { appId });
  const candidates = await listCandidates(ctx, appId);
  const environmentId = policy?.environmentId ?? null;
  const source = environmentId === null ? null : await findSource(ctx, { appId, environmentId });
  const defaults = updatePreviewPolicyInputSchema.parse({ appId, enabled: false });
  const { enabled, previewsMax, daysMax, drafts } = policy ?? defaults;
  return {
    appId,
    isLinked: await isLinked(ctx, { appId }),
    enabled,
    environmentId,
    environmentName: source?.placement?.environmentName ?? null,
    baseDomain: source?.baseDomain ?? null,
    previewsMax,
    daysMax,
    drafts,
    candidates,
  };
}

/**
 * Takes effect at once for open pull requests that are known. Switching off ends all previews. Throws preview.no_repository and
 * preview.environment_unfit.
 */
export async function updatePreviewPolicy(ctx: Ctx, input: UpdatePreviewPolicyInput): Promise<PreviewPolicyView> {
  const { tx, organizationId } = ctx;
  const { appId, enabled, previewsMax, daysMax, drafts } = input;
  await lockApps(ctx, [appId]);
  const primary = await requirePlacement(ctx, { appId });
  const before = await findPolicy(ctx, { appId });
  if (enabled && !(await isLinked(ctx, { appId }))) throw new AppError('preview.no_repository', { appId });
  const environmentId = await environmentOf(ctx, input, before?.environmentId ?? null, primary);
  const after = { enabled, environmentId, previewsMax, daysMax, drafts };
  const updatedAt = ctx.clock.now();
  await tx.previewPolicy.upsert({
    where: { appId, organizationId },
    create: { ...after, appId, organizationId, updatedAt },
    update: { ...after, updatedAt },
  });
  await recordAudit(ctx, {
    action: 'preview.update_policy',
    target: { kind: 'app', id: appId, label: primary.appName },
    ...(before === null ? { after } : changedFields({ ...before }, after)),
  });
  for (const row of await loadPreviews(ctx, { appId, isOpen: true })) await syncPreview(ctx, row);
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return getPreviewPolicy(ctx, { appId });
}

/** Lists environments of the app that previews can use. Secrets of production are in none of them. */
async function listCandidates({ tx, organizationId }: Ctx, appId: string): Promise<PreviewPolicyView['candidates']> {
  const rows = await tx.placement.findMany({
    where: {
      appId,
      organizationId,
      isPrimary: false,
      servers: { some: {} },
      environment: { protected: false, kind: 'standard' },
    },
    select: { environmentId: true, environment: { select: { name: true } } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return rows.map((row) => ({
    environmentId: parseId('env', row.environmentId),
    environmentName: row.environment.name,
  }));
}

async function environmentOf(
  ctx: Ctx,
  input: UpdatePreviewPolicyInput,
  chosen: EnvironmentId | null,
  primary: Placement,
): Promise<EnvironmentId> {
  const wanted = input.environmentId ?? chosen;
  if (wanted === null) return createScope(ctx, primary);
  const isFit = (await listCandidates(ctx, input.appId)).some(({ environmentId }) => environmentId === wanted);
  // Switching off must not fail because of an environment that was protected since.
  if (!isFit && input.enabled) throw new AppError('preview.environment_unfit', { environmentId: wanted });
  return wanted;
}

/** Adds the app to a new environment, with the settings of the primary one but none of its variables and secrets. */
async function createScope(ctx: Ctx, { appId, branch, environmentId: primaryId, serverId }: Placement) {
  const { tx, organizationId } = ctx;
  const { projectId } = await tx.app.findFirstOrThrow({
    where: { id: appId, organizationId },
    select: { projectId: true },
  });
  const taken = await tx.environment.findMany({ where: { projectId, organizationId }, select: { slug: true } });
  const slug = firstFreeSlug('previews', new Set(taken.map((each) => each.slug)));
  const name = slug.replace('previews', 'Previews').replace('-', ' ');
  const { environmentId } = await createEnvironment(ctx, {
    projectId: parseId('prj', projectId),
    name,
    protected: false,
  });
  await createPlacement(ctx, { appId, environmentId, branch, isPrimary: false, serverIds: [serverId] });
  // A push must not deploy to it: only its settings and secrets count.
  await tx.placement.updateMany({
    where: { appId, environmentId, organizationId },
    data: { deploysPausedAt: ctx.clock.now() },
  });
  const { settings } = await findNewestConfig(ctx, { appId, environmentId: primaryId });
  await tx.appConfig.create({
    data: {
      id: newId('cfg'),
      organizationId,
      appId,
      environmentId,
      number: 1,
      settings: { ...settings, variables: {} },
      authorUserId: actorUserId(ctx.actor),
      createdAt: ctx.clock.now(),
    },
  });
  await recordAudit(ctx, {
    action: 'app.add_environment',
    target: { kind: 'app', id: appId, label: name },
    after: { environmentId, serverIds: [serverId], branch },
  });
  return environmentId;
}
