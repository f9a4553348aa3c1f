// Decides about a push again for one app: after a pause, or when its deployment could not be queued.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { lockApps, requirePlacement } from '../placement/index.ts';
import { parsePush } from './parse-push.ts';
import { decideFor } from './process-delivery.ts';
import { listPushTargets } from './push-targets.ts';
import { pushOutcomeSchema, type RetriedPush, type RetryPushInput } from './schema.ts';
import { findDecision, lockDelivery } from './store.ts';

/** Changes nothing if the push has a deployment. Throws delivery.not_found and delivery.not_processed. */
export async function retryPush(ctx: Ctx, input: RetryPushInput): Promise<RetriedPush> {
  const { deliveryId, appId } = input;
  const row = await lockDelivery(ctx, deliveryId);
  if (row === null) throw new AppError('delivery.not_found', { deliveryId });
  await lockApps(ctx, [appId]);
  const { environmentId, appName } = await requirePlacement(ctx, input);
  const isDecided = row.event === 'push' && (row.state === 'processed' || row.state === 'ignored');
  const event = isDecided ? parsePush(row.source, row.body) : null;
  const targets = event === null ? [] : await listPushTargets(ctx, row, event);
  const target = targets.find((each) => each.appId === appId && each.environmentId === environmentId);
  if (event === null || target === undefined) throw new AppError('delivery.not_processed', { deliveryId });
  const before = await findDecision(ctx, { deliveryId, appId, environmentId });
  if (before?.outcome !== 'deployed') await decideFor(ctx, row, event, target);
  const after = await findDecision(ctx, { deliveryId, appId, environmentId });
  if (after === null) throw new AppError('delivery.not_processed', { deliveryId });
  await recordAudit(ctx, {
    action: 'push.retry',
    target: { kind: 'app', id: appId, label: appName },
    before: { outcome: before?.outcome ?? null },
    after: { outcome: after.outcome, deliveryId, environmentId },
  });
  await notifyChange(ctx, { kind: 'delivery', id: deliveryId });
  return { outcome: pushOutcomeSchema.parse(after.outcome), deploymentId: after.deploymentId };
}
