// Stores a new version of an app's settings.
// Invariant: it never touches a release; they are immutable.

import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { type ConfigRef, diffSettings, findNewestConfig, type Settings, type StoredConfig } from '../config/index.ts';
import { requireNothingInReview } from '../deployment/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import {
  bumpServersOf,
  type Placement,
  type PlacementInput,
  requireNoPreview,
  requirePlacement,
} from '../placement/index.ts';

export interface OpenConfig {
  readonly placement: Placement;
  readonly newest: StoredConfig;
}

/** Locks the app, so that two calls at the same time never make the same number. Throws approval.in_review and preview.inherited. */
export async function openConfig(ctx: Ctx, input: PlacementInput): Promise<OpenConfig> {
  await requireNothingInReview(ctx, { appId: input.appId });
  const placement = await requirePlacement(ctx, input);
  await requireNoPreview(ctx, placement);
  return { placement, newest: await findNewestConfig(ctx, placement) };
}

/** `facts` are added to the audit event. The same settings make no new version. */
export async function storeConfig(
  ctx: Ctx,
  { placement, newest }: OpenConfig,
  settings: Settings,
  facts: Readonly<Record<string, number>> = {},
): Promise<ConfigRef> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId } = placement;
  await requireSensible(ctx, settings, newest.settings);
  const changes = diffSettings(newest.settings, settings);
  if (changes.length === 0 && newest.id !== null) return { configId: newest.id, number: newest.number };

  const id = newId('cfg');
  const number = newest.number + 1;
  await tx.appConfig.create({
    data: {
      id,
      organizationId,
      appId,
      environmentId,
      number,
      settings,
      authorUserId: actorUserId(ctx.actor),
      createdAt: ctx.clock.now(),
    },
  });
  if (changes.some(({ name }) => isAtOnce(name))) {
    await bumpServersOf(ctx, placement);
  }
  const side = (of: 'before' | 'after') => Object.fromEntries(changes.map((each) => [each.name, each[of]]));
  await recordAudit(ctx, {
    action: 'config.update',
    target: { kind: 'app', id: appId, label: placement.appName },
    before: { ...side('before'), number: newest.number },
    after: { ...side('after'), number, ...facts },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { configId: id, number };
}

/** Tells if a setting takes effect without a deployment. */
function isAtOnce(name: string): boolean {
  return name === 'autoscaling' || name === 'deploymentUrls' || name.startsWith('traffic.');
}

async function requireSensible(ctx: Ctx, settings: Settings, former: Settings): Promise<void> {
  const { builder, listen } = settings;
  if (builder === 'image' && settings.image === '') throw new AppError('config.image_missing');
  const isContainer = builder === 'image' || builder === 'dockerfile';
  if (isContainer && listen === 'socket') throw new AppError('config.socket_in_container');
  const { buildServerId } = settings;
  // A build server that was deleted since stays in the settings.
  if (buildServerId === null || buildServerId === former.buildServerId) return;
  // A drain that checks rights for the apps that build there waits for this lock.
  const [server] = await ctx.tx.$queryRaw<object[]>`
    SELECT 1 FROM server WHERE organization_id = ${ctx.organizationId} AND id = ${buildServerId} FOR KEY SHARE`;
  if (server === undefined) {
    throw new AppError('server.not_found', { serverId: buildServerId });
  }
}
