// Sets the number of an app's copies.
// Invariant: it never touches a release; the copies run the live one.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { type Ctx, notifyChange } from '../kernel/index.ts';
import type { PlacementRef, ScaleAppInput } from './schema.ts';
import { bumpServersOf, lockApps, requirePlacement } from './store.ts';

/** Takes effect immediately: new copies get requests when they are healthy, and surplus ones finish theirs first. */
export async function scaleApp(ctx: Ctx, input: ScaleAppInput): Promise<PlacementRef> {
  const { tx, organizationId } = ctx;
  const { appId, instances } = input;
  // A report takes the app first and its server then; so does this.
  await lockApps(ctx, [appId]);
  const { id, appName, environmentId, instances: before } = await requirePlacement(ctx, input);
  await tx.placement.updateMany({ where: { id, organizationId }, data: { instances } });
  await bumpServersOf(ctx, { appId, environmentId });
  await recordAudit(ctx, {
    action: 'app.scale',
    target: { kind: 'app', id: appId, label: appName },
    before: { environmentId, instances: before },
    after: { environmentId, instances },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  ctx.log.info({ appId, instances, actor: ctx.actor }, 'scaled an app');
  return { appId: parseId('app', appId), environmentId };
}
