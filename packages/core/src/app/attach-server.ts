// Adds a server to an app, also in an environment where it does not run yet.
// Invariant: it never deploys; the server gets the app with the next deployment.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { findNewestConfig } from '../config/index.ts';
import { actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import {
  attachServer as attachToPlacement,
  createPlacement,
  findPlacement,
  lockApps,
  type PlacementServerRef,
  requireNothingUnderWay,
  requirePlacement,
} from '../placement/index.ts';
import { keepVolumes } from '../volume/index.ts';
import type { AttachServerInput } from './schema.ts';

/**
 * Adds a server. In an environment where the app does not run yet, it is the first, with the settings of the app's
 * primary environment.
 */
export async function attachServer(ctx: Ctx, input: AttachServerInput): Promise<PlacementServerRef> {
  const { appId, serverId } = input;
  await lockApps(ctx, [appId]);
  const primary = await requirePlacement(ctx, { appId });
  const { environmentId = primary.environmentId } = input;
  if ((await findPlacement(ctx, { appId, environmentId })) !== null) return attachToPlacement(ctx, input);
  await requireNothingUnderWay(ctx, { appId, environmentId });
  await createPlacement(ctx, {
    appId,
    environmentId,
    branch: input.branch ?? primary.branch,
    instances: primary.instances,
    isPrimary: false,
    serverIds: [serverId],
  });
  await copySettings(ctx, primary, environmentId);
  await keepVolumes(ctx, { appId, environmentId });
  await recordAudit(ctx, {
    action: 'app.attach_server',
    target: { kind: 'app', id: appId, label: primary.appName },
    after: { environmentId, serverId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, environmentId, serverId };
}

async function copySettings(
  ctx: Ctx,
  primary: { readonly appId: string; readonly environmentId: string },
  environmentId: string,
): Promise<void> {
  const { id, settings } = await findNewestConfig(ctx, primary);
  const { appId } = primary;
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
