// Owns how many copies of an app run. Must never touch a release: the copies are of whatever is live.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { lockApps } from '../deployment/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServersOf } from '../server/index.ts';
import type { AppIdentity, ScaleAppInput } from './schema.ts';

/** Takes effect at once: further copies get requests when they are healthy, those that are too many finish theirs first. */
export async function scaleApp(ctx: Ctx, input: ScaleAppInput): Promise<AppIdentity> {
  const { tx, organizationId } = ctx;
  const { appId, instances } = input;
  // A report takes the app first and its server then; so does this.
  await lockApps(ctx, [appId]);
  const placement = await tx.placement.findFirst({
    where: {
      appId,
      organizationId,
      ...(input.environmentId === undefined ? {} : { environmentId: input.environmentId }),
    },
    select: { environmentId: true, instances: true, app: { select: { name: true, slug: true } } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (placement === null) throw new AppError('app.not_found', { appId });
  const { app, environmentId } = placement;
  // On each of its servers alike.
  await tx.placement.updateMany({ where: { appId, environmentId, organizationId }, data: { instances } });
  await bumpServersOf(ctx, { appId, environmentId });
  await recordAudit(ctx, {
    action: 'app.scale',
    target: { kind: 'app', id: appId, label: app.name },
    before: { environmentId, instances: placement.instances },
    after: { environmentId, instances },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  ctx.log.info({ appId, instances, actor: ctx.actor }, 'scaled an app');
  return { id: parseId('app', appId), slug: app.slug };
}
