// Runs the action that a person requested on a check run, as the Fairlead account that they linked.
// Invariant: an action needs a link, a membership and the permissions of the dashboard's procedure, and each signed body acts once.
import { type AppId, type DeliveryId, type EnvironmentId, parseId, type ReleaseId } from '@fairlead/contract/ids';
import { promoteRelease, type RequiredChecks, redeploy, retryDeployment, rollbackApp } from '../deployment/index.ts';
import {
  type CheckRequest,
  type CheckRequestKind,
  isCheckEvent,
  noteOnReport,
  parseCheckRequest,
  requestHash,
} from '../github/index.ts';
import { AppError, type Ctx, clipText, notifyChange } from '../kernel/index.ts';
import { findPlacement, lockApps } from '../placement/index.ts';
import { lockDelivery, type PushOutcome, writeDecision } from '../push/index.ts';
import { loadRights, type Membership } from '../role/index.ts';
import {
  type CheckedDeployment,
  findReleaseBefore,
  listPromotionTargets,
  promotionIdentifier,
} from './list-check-actions.ts';

/** Call of a procedure of deployments. */
export type CheckedAction =
  | { readonly kind: 'redeploy' | 'retry'; readonly input: { readonly deploymentId: Target['deploymentId'] } }
  | {
      readonly kind: 'rollback';
      readonly input: {
        readonly appId: AppId;
        readonly environmentId: EnvironmentId;
        readonly releaseId: ReleaseId;
      };
    }
  | {
      readonly kind: 'promote';
      readonly input: { readonly environmentId: EnvironmentId; readonly releaseId: ReleaseId };
    };

/** Rules of the procedures: scopes, permissions and what else they need. Throws an AppError. */
export type CheckRules = (ctx: Ctx, member: Membership, action: CheckedAction) => Promise<void>;

interface Target extends CheckedDeployment {
  readonly deploymentId: ReturnType<typeof parseId<'dep'>>;
  readonly commitSubject: string | null;
}

/** False: the delivery is no request on a check run. Does nothing for one that was processed before. */
export async function processCheckRequest(
  ctx: Ctx,
  { deliveryId }: { readonly deliveryId: DeliveryId },
  rules: CheckRules,
): Promise<boolean> {
  const row = await lockDelivery(ctx, deliveryId);
  if (row === null || row.source !== 'github' || !isCheckEvent(row.event)) return false;
  if (row.state !== 'received') return true;
  const request = parseCheckRequest(row.event, row.body);
  if (request !== null && !(await isFirst(ctx, row.endpointId, row.body))) {
    await end(ctx, deliveryId, { ...factsOf(request, []), problem: repeated });
    return true;
  }
  const targets = request === null ? [] : await listTargets(ctx, row.endpointId, request);
  if (request !== null) {
    const member = await findMember(ctx, row.endpointId, request);
    for (const target of targets) await processTarget(ctx, deliveryId, { request, target, member }, rules);
  }
  await end(ctx, deliveryId, {
    ...(request === null ? {} : factsOf(request, targets)),
    problem: targets.length === 0 ? 'No deployment of Fairlead belongs to this request.' : '',
  });
  return true;
}

const repeated = 'This request was processed before.';

/**
 * Records the body. False: it was processed before, maybe in a delivery that is deleted by now. The id of a delivery proves
 * nothing, because GitHub signs the body only.
 */
async function isFirst({ tx, organizationId }: Ctx, githubAppId: string, body: string): Promise<boolean> {
  const data = { organizationId, githubAppId, bodyHash: requestHash(body) };
  const { count } = await tx.checkRequest.createMany({ data, skipDuplicates: true });
  return count === 1;
}

/** `problem`: why the delivery is ignored; empty: it is processed. */
async function end(
  ctx: Ctx,
  deliveryId: DeliveryId,
  data: Partial<ReturnType<typeof factsOf>> & { readonly problem: string },
): Promise<void> {
  const state = data.problem === '' ? 'processed' : 'ignored';
  await ctx.tx.webhookDelivery.update({
    where: { id: deliveryId },
    data: { ...data, state, processedAt: ctx.clock.now() },
  });
  await notifyChange(ctx, { kind: 'delivery', id: deliveryId });
}

const titles: Readonly<Record<CheckRequestKind, string>> = {
  rerun: 'Re-run',
  rollback: 'Rollback',
  promote: 'Promotion',
};

function factsOf({ kind, repositoryName, commitHash, sender }: CheckRequest, [target]: readonly Target[]) {
  const subject = target?.commitSubject ?? '';
  return {
    repository: clipText(repositoryName, 300),
    commitHash,
    commitSubject: clipText(subject === '' ? titles[kind] : `${titles[kind]} of “${subject}”`, 300),
    commitAuthor: '',
    sender: sender.login,
  };
}

/**
 * Finds the deployments that the request concerns: that of the check run, or the newest one of the commit for each app and
 * environment. Leaves out apps of other GitHub Apps than the one that sent it.
 */
async function listTargets(ctx: Ctx, githubAppId: string, request: CheckRequest): Promise<Target[]> {
  const { deploymentId, commitHash, repositoryId } = request;
  const rows = await ctx.tx.$queryRaw<
    {
      deploymentId: string;
      appId: string;
      environmentId: string;
      number: number;
      state: string;
      releaseId: string | null;
      commitSubject: string | null;
    }[]
  >`
    SELECT DISTINCT ON (deployment.app_id, deployment.environment_id)
           deployment.id AS "deploymentId", deployment.app_id AS "appId",
           deployment.environment_id AS "environmentId", deployment.number, deployment.state,
           deployment.release_id AS "releaseId", deployment.commit_subject AS "commitSubject"
    FROM deployment
    JOIN app_repository ON app_repository.app_id = deployment.app_id
    JOIN github_installation ON github_installation.id = app_repository.installation_id
    WHERE deployment.organization_id = ${ctx.organizationId}
      AND app_repository.repository_id = ${BigInt(repositoryId)} AND github_installation.github_app_id = ${githubAppId}
      AND deployment.commit_hash = ${commitHash}
      AND (${deploymentId}::text IS NULL OR deployment.id = ${deploymentId})
    ORDER BY deployment.app_id, deployment.environment_id, deployment.number DESC`;
  return rows.map((row) => ({
    ...row,
    deploymentId: parseId('dep', row.deploymentId),
    appId: parseId('app', row.appId),
    environmentId: parseId('env', row.environmentId),
    releaseId: row.releaseId === null ? null : parseId('rel', row.releaseId),
  }));
}

interface LinkedMember {
  readonly userId: string;
  readonly membership: Membership;
}

/** Null: the sender's GitHub account belongs to no member. */
async function findMember(ctx: Ctx, githubAppId: string, { sender }: CheckRequest): Promise<LinkedMember | null> {
  const account = await ctx.tx.githubAccount.findFirst({
    where: { githubAppId, githubUserId: BigInt(sender.githubUserId) },
    select: { userId: true },
  });
  if (account === null) return null;
  const { userId } = account;
  const [membership] = await loadRights(ctx, { userId, organizationId: ctx.organizationId });
  return membership === undefined ? null : { userId, membership };
}

interface Work {
  readonly request: CheckRequest;
  readonly target: Target;
  readonly member: LinkedMember | null;
}

async function processTarget(ctx: Ctx, deliveryId: DeliveryId, work: Work, rules: CheckRules): Promise<void> {
  const { request, target } = work;
  await ctx.tx.$executeRaw`SAVEPOINT check_action`;
  try {
    const action = await decide(ctx, work);
    const deploymentId = await carryOut(ctx, work, action, rules);
    await ctx.tx.$executeRaw`RELEASE SAVEPOINT check_action`;
    const environmentId = action.kind === 'promote' ? action.input.environmentId : target.environmentId;
    const started = await ctx.tx.deployment.findFirst({ where: { id: deploymentId }, select: { number: true } });
    await write({ environmentId, outcome: 'deployed', detail: request.sender.login, deploymentId });
    await noteOnReport(
      ctx,
      target,
      `${titles[request.kind]} by @${request.sender.login}: deployment ${started?.number}.`,
    );
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await ctx.tx.$executeRaw`ROLLBACK TO SAVEPOINT check_action`;
    await write({ environmentId: target.environmentId, outcome: 'refused', detail: error.message, deploymentId: null });
    // The time makes the body of the next press differ, so that it is no repetition.
    const at = ctx.clock.now().toISOString();
    await noteOnReport(
      ctx,
      target,
      `${titles[request.kind]} by @${request.sender.login} at ${at} was rejected. ${error.message}`,
    );
  }

  async function write(decided: {
    readonly environmentId: EnvironmentId;
    readonly outcome: PushOutcome;
    readonly detail: string;
    readonly deploymentId: Target['deploymentId'] | null;
  }): Promise<void> {
    await writeDecision(ctx, { ...decided, deliveryId, appId: target.appId, ref: '', reason: request.kind });
  }
}

/** Returns the call that the request means. Throws an AppError if it means none. */
async function decide(ctx: Ctx, { request, target }: Work): Promise<CheckedAction> {
  const { deploymentId, appId, environmentId, state, releaseId } = target;
  await lockApps(ctx, [appId]);
  if (request.kind === 'rerun') {
    if (!['live', 'failed', 'cancelled', 'superseded'].includes(state)) {
      throw new AppError('deployment.under_way', { deploymentId });
    }
    const kind = state === 'failed' || state === 'cancelled' ? 'retry' : 'redeploy';
    return { kind, input: { deploymentId } };
  }
  if (releaseId === null) throw new AppError('release.not_found', { releaseId: '' });
  if (request.kind === 'promote') {
    const targets = await listPromotionTargets(ctx, target);
    const found = targets.find((each) => promotionIdentifier(each.environmentId) === request.identifier);
    if (found === undefined) throw new AppError('placement.not_there', { appId });
    return { kind: 'promote', input: { releaseId, environmentId: found.environmentId } };
  }
  const placement = await findPlacement(ctx, { appId, environmentId });
  if (placement?.liveReleaseId !== releaseId) throw new AppError('github.not_live');
  const before = await findReleaseBefore(ctx, target);
  if (before === null) throw new AppError('github.nothing_before');
  return { kind: 'rollback', input: { appId, environmentId, releaseId: before } };
}

/** Acts as the member: audit, approvals and the deployment name them. */
async function carryOut(
  ctx: Ctx,
  { member, target, request }: Work,
  action: CheckedAction,
  rules: CheckRules,
): Promise<Target['deploymentId']> {
  if (member === null) throw new AppError('github.account_not_linked');
  const { userId, membership } = member;
  // A request from GitHub has no session, so nothing proves the second factor.
  if (membership.requiresTwoFactor) throw new AppError('github.factor_unproven');
  const acting: Ctx = { ...ctx, actor: { kind: 'member', userId, role: membership.role } };
  await rules(acting, membership, action);
  const { deploymentId } = await start(acting, action, await findChecks(ctx, target, request));
  return deploymentId;
}

/**
 * Returns the required checks if the deployment waited for them: a re-run at GitHub must not skip what the push had to pass.
 * Undefined: it waits for none.
 */
async function findChecks(
  { tx, organizationId }: Ctx,
  { deploymentId, appId, environmentId }: Target,
  { commitHash }: CheckRequest,
): Promise<RequiredChecks | undefined> {
  const waits = await tx.deploymentCheckWait.count({ where: { deploymentId, organizationId } });
  if (waits === 0) return undefined;
  const rules = await tx.placement.findFirst({
    where: { appId, environmentId, organizationId },
    select: { requiredChecks: true, checksTimeoutMinutes: true },
  });
  if (rules === null || rules.requiredChecks.length === 0) return undefined;
  return { commitHash, names: rules.requiredChecks, timeoutMinutes: rules.checksTimeoutMinutes };
}

function start(ctx: Ctx, action: CheckedAction, checks: RequiredChecks | undefined) {
  switch (action.kind) {
    case 'redeploy':
      return redeploy(ctx, { ...action.input, withoutCache: false }, checks);
    case 'retry':
      return retryDeployment(ctx, action.input, checks);
    case 'rollback':
      return rollbackApp(ctx, action.input);
    case 'promote':
      return promoteRelease(ctx, action.input);
  }
}
