// Rules of pushes for an app in an environment: which tags and which paths deploy.
import { parseId } from '@fairlead/contract/ids';
import { changedFields, recordAudit } from '../audit/index.ts';
import { type Ctx, notifyChange } from '../kernel/index.ts';
import { lockApps, type PlacementInput, type PlacementRef, requirePlacement } from '../placement/index.ts';
import type { PushRulesView, UpdatePushRulesInput } from './schema.ts';

const ruleColumns = { tagPattern: true, watchPaths: true, requiredChecks: true, checksTimeoutMinutes: true } as const;

export async function getPushRules(ctx: Ctx, input: PlacementInput): Promise<PushRulesView> {
  const { tx, organizationId } = ctx;
  const { appId } = input;
  const { id, environmentId, branch, deploysPausedAt } = await requirePlacement(ctx, input);
  const rules = await tx.placement.findFirstOrThrow({ where: { id, organizationId }, select: ruleColumns });
  return {
    ...rules,
    appId,
    environmentId,
    branch,
    canWaitForChecks: (await tx.appRepository.count({ where: { appId, organizationId } })) > 0,
    paused: deploysPausedAt !== null,
    receivesPushes: await receivesPushes(ctx, appId),
    heldPush: await findHeldPush(ctx, { appId, environmentId }),
  };
}

export async function updatePushRules(ctx: Ctx, input: UpdatePushRulesInput): Promise<PlacementRef> {
  const { tx, organizationId } = ctx;
  const { appId, tagPattern, watchPaths, requiredChecks, checksTimeoutMinutes } = input;
  const changes = { tagPattern, watchPaths, requiredChecks, checksTimeoutMinutes };
  await lockApps(ctx, [appId]);
  const { id, environmentId, appName } = await requirePlacement(ctx, input);
  const before = await tx.placement.findFirstOrThrow({ where: { id, organizationId }, select: ruleColumns });
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  await tx.placement.update({ where: { id }, data: Object.fromEntries(given) });
  await recordAudit(ctx, {
    action: 'push.update_rules',
    target: { kind: 'app', id: appId, label: appName },
    ...changedFields(before, changes),
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, environmentId };
}

/** True if an installation reaches the app's repository, or the app has a webhook. */
async function receivesPushes({ tx, organizationId }: Ctx, appId: string): Promise<boolean> {
  const linked = await tx.appRepository.count({
    where: {
      appId,
      organizationId,
      lostAt: null,
      installation: { removedAt: null, suspendedAt: null },
    },
  });
  return linked > 0 || (await tx.appWebhook.count({ where: { appId, organizationId } })) > 0;
}

async function findHeldPush(
  { tx, organizationId }: Ctx,
  where: { readonly appId: string; readonly environmentId: string },
): Promise<PushRulesView['heldPush']> {
  const newest = await tx.pushDecision.findFirst({
    where: { ...where, organizationId, outcome: { in: ['deployed', 'paused'] } },
    select: {
      outcome: true,
      ref: true,
      delivery: {
        select: { id: true, commitHash: true, commitSubject: true, commitAuthor: true, receivedAt: true },
      },
    },
    orderBy: { delivery: { sequence: 'desc' } },
  });
  if (newest === null || newest.outcome !== 'paused') return null;
  const { id, commitHash, commitSubject, commitAuthor, receivedAt } = newest.delivery;
  return {
    deliveryId: parseId('dlv', id),
    ref: newest.ref,
    commitHash,
    commitSubject: commitSubject ?? '',
    commitAuthor: commitAuthor ?? '',
    receivedAt,
  };
}
