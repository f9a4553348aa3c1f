// Sets the number of an app's copies.
// Invariant: it never touches a release; the copies run the live one.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { requirePlace } from '../config/index.ts';
import { lockApps } from '../deployment/index.ts';
import { type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServersOf } from '../server/index.ts';
import type { AppIdentity, ScaleAppInput } from './schema.ts';

/** Takes effect immediately: new copies get requests when they are healthy, and surplus ones finish theirs first. */
export async function scaleApp(ctx: Ctx, input: ScaleAppInput): Promise<AppIdentity> {
  const { tx, organizationId } = ctx;
  const { appId, instances } = input;
  // A report takes the app first and its server then; so does this.
  await lockApps(ctx, [appId]);
  const { environmentId, instances: before } = await requirePlace(ctx, { appId, environmentId: input.environmentId });
  const app = await tx.app.findFirstOrThrow({
    where: { id: appId, organizationId },
    select: { name: true, slug: true },
  });
  // Applies to each of its servers.
  await tx.placement.updateMany({ where: { appId, environmentId, organizationId }, data: { instances } });
  await bumpServersOf(ctx, { appId, environmentId });
  await recordAudit(ctx, {
    action: 'app.scale',
    target: { kind: 'app', id: appId, label: app.name },
    before: { environmentId, instances: before },
    after: { environmentId, instances },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  ctx.log.info({ appId, instances, actor: ctx.actor }, 'scaled an app');
  return { id: parseId('app', appId), slug: app.slug };
}
