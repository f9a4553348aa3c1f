// Creates the environment of a preview, with its placement and its name below the base domain.
// Invariant: it copies settings from the environment that the app's previews use, and from no other.
import { type EnvironmentId, newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { findNewestConfig, type Settings } from '../config/index.ts';
import { planBaseDomains } from '../domain/index.ts';
import type { Ctx } from '../kernel/index.ts';
import type { Placement } from '../placement/index.ts';
import type { PreviewRow } from './store.ts';

/** The app is locked. `source`: where the app runs in the environment that previews use. */
export async function createPreviewEnvironment(
  ctx: Ctx,
  { id: previewId, appId, number, headRef }: PreviewRow,
  source: Placement,
): Promise<EnvironmentId> {
  const { tx, organizationId } = ctx;
  const app = await tx.app.findFirstOrThrow({
    where: { id: appId, organizationId },
    select: { name: true, projectId: true },
  });
  const environmentId = newId('env');
  const placementId = newId('plc');
  const createdAt = ctx.clock.now();
  await tx.environment.create({
    data: {
      id: environmentId,
      organizationId,
      projectId: app.projectId,
      name: `PR ${number}`,
      slug: `pr-${number}`,
      kind: 'preview',
      createdAt,
    },
  });
  await tx.placement.create({
    data: { id: placementId, organizationId, appId, environmentId, branch: headRef, createdAt },
  });
  await tx.placementServer.create({
    data: { placementId, organizationId, serverId: source.serverId, position: 0, createdAt },
  });
  await copySettings(ctx, source, environmentId);
  await planBaseDomains(ctx, { environmentId });
  await recordAudit(ctx, {
    action: 'preview.create',
    target: { kind: 'app', id: appId, label: app.name },
    after: { previewId, number, environmentId, serverId: source.serverId },
  });
  return environmentId;
}

/** Stores the newest settings of `source` as a version of the preview, unless it has them. */
export async function copySettings(ctx: Ctx, source: Placement, environmentId: string): Promise<void> {
  const { appId } = source;
  const settings = settingsOfPreview((await findNewestConfig(ctx, source)).settings);
  const own = await findNewestConfig(ctx, { appId, environmentId });
  if (own.id !== null && JSON.stringify(own.settings) === JSON.stringify(settings)) return;
  await ctx.tx.appConfig.create({
    data: {
      id: newId('cfg'),
      organizationId: ctx.organizationId,
      appId,
      environmentId,
      number: own.number + 1,
      settings,
      createdAt: ctx.clock.now(),
    },
  });
}

/** Returns the settings of a preview: one instance that scales to zero, and no volumes. */
function settingsOfPreview(settings: Settings): Settings {
  const { autoscaling } = settings;
  return {
    ...settings,
    autoscaling: {
      idleTimeoutMs: autoscaling?.idleTimeoutMs ?? 5 * 60_000,
      wakeTimeoutMs: autoscaling?.wakeTimeoutMs ?? 30_000,
      inFlightTarget: 0,
      cpuMillisTarget: 0,
      instancesMin: 0,
      instancesMax: 1,
    },
    workers: settings.workers.map((worker) => ({
      ...worker,
      instances: Math.min(worker.instances, 1),
      staysAwake: false,
    })),
    volumes: [],
    rollout: { kind: 'blue_green' },
    releasesKept: 1,
  };
}
