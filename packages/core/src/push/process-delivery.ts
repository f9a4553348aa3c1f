// Processes stored deliveries: decides what each push means, and queues the deployments, in one transaction each.
// Invariant: a crash at any point leaves a delivery unprocessed or completely processed, so nothing is lost or doubled.
import { type DeliveryId, newId, parseId } from '@fairlead/contract/ids';
import { startDeployment } from '../deployment/index.ts';
import { followGithubEvent, isGithubEvent } from '../github/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { lockApps, requirePlacement } from '../placement/index.ts';
import { processPullRequest } from '../preview/index.ts';
import { changesAny, decidePush, findMistaken, type PushDecision } from './decide-push.ts';
import { eventOfName } from './delivery-events.ts';
import { parsePush } from './parse-push.ts';
import { type PushEvent, storableText, subjectOf, toPushRef } from './push-event.ts';
import { listPushTargets, type PushTarget } from './push-targets.ts';
import { type DeliveryRow, loadKnownPushes, lockDelivery, writeDecision } from './store.ts';

export interface ProcessedDelivery {
  readonly deliveryId: DeliveryId;
  /** Files that the pull request of a delivery changes. Default, and null: unknown. A push names its own. */
  readonly changedFiles?: readonly string[] | null;
}

/** Processes one delivery; does nothing if that was done before. */
export async function processDelivery(ctx: Ctx, { deliveryId, changedFiles = null }: ProcessedDelivery): Promise<void> {
  const row = await lockDelivery(ctx, deliveryId);
  if (row === null || row.state !== 'received') return;
  const problem = await follow(ctx, row, changedFiles);
  const state = problem === '' ? 'processed' : 'ignored';
  await ctx.tx.webhookDelivery.update({
    where: { id: row.id },
    data: { state, problem, processedAt: ctx.clock.now() },
  });
  await notifyChange(ctx, { kind: 'delivery', id: row.id });
}

/** Returns why the delivery concerns no app; empty: it was processed. */
function follow(ctx: Ctx, row: DeliveryRow, changedFiles: readonly string[] | null): Promise<string> {
  const name = eventOfName(row.event);
  if (isGithubEvent(name)) return followGithubEvent(ctx, row.endpointId, { name, body: row.body });
  return name === 'pull_request' ? processPreviews(ctx, row, changedFiles) : processPush(ctx, row);
}

/** Decides about each app and environment that a push may deploy. */
async function processPush(ctx: Ctx, row: DeliveryRow): Promise<string> {
  const event = parsePush(row.source, row.body);
  await ctx.tx.webhookDelivery.update({
    where: { id: row.id },
    data: {
      repository: event.repository.name,
      ref: event.ref,
      before: event.before,
      after: event.after,
      commitHash: event.commitHash,
      commitSubject: subjectOf(event.commitMessage),
      commitAuthor: storableText(event.commitAuthor),
      sender: storableText(event.sender),
      pushedAt: event.pushedAt,
    },
  });
  const targets = await listPushTargets(ctx, row, event);
  await lockApps(
    ctx,
    targets.map(({ appId }) => appId),
  );
  for (const target of targets) await decideFor(ctx, row, event, target);
  return targets.length === 0 ? 'No app is built from this repository.' : '';
}

/** Decides about previews of a pull request. */
async function processPreviews(ctx: Ctx, row: DeliveryRow, files: readonly string[] | null): Promise<string> {
  const { id, endpointId, body } = row;
  const { request, apps } = await processPullRequest(ctx, {
    deliveryId: id,
    endpointId,
    body,
    changesAny: (globs) => changesAny(globs, files),
  });
  await ctx.tx.webhookDelivery.update({
    where: { id },
    data: {
      repository: request.repositoryName,
      ref: `refs/pull/${request.number}/head`,
      commitHash: request.headHash,
      commitSubject: request.title,
      commitAuthor: storableText(request.author),
      sender: storableText(request.sender),
    },
  });
  return apps === 0 ? 'No app is linked to this repository.' : '';
}

/** Decides again about a push that was paused, or could not be queued. The app is locked. */
export async function decideFor(ctx: Ctx, row: DeliveryRow, event: PushEvent, target: PushTarget): Promise<void> {
  const known = await loadKnownPushes(ctx, target, event.ref);
  const others = known.filter(({ deliveryId }) => deliveryId !== row.id);
  const decision = decidePush({ ...event, sequence: row.sequence }, target.rules, others);
  await carryOut(ctx, row.id, event, target, decision);
  if (decision.outcome === 'deployed' || others.length === 0) return;
  // A late delivery can show that another push was taken for too old.
  const mistaken = findMistaken(await loadKnownPushes(ctx, target, event.ref));
  if (mistaken === null || mistaken.deliveryId === row.id) return;
  const later = await lockDelivery(ctx, parseId('dlv', mistaken.deliveryId));
  if (later !== null) await decideFor(ctx, later, parsePush(later.source, later.body), target);
}

async function carryOut(
  ctx: Ctx,
  deliveryId: string,
  event: PushEvent,
  target: PushTarget,
  decision: PushDecision,
): Promise<void> {
  const { appId, environmentId } = target;
  const base = { deliveryId, appId, environmentId, ref: event.ref };
  if (decision.outcome !== 'deployed') {
    await writeDecision(ctx, { ...base, ...decision, deploymentId: null });
    return;
  }
  if (target.requiredChecks.length > 0 && event.commitHash === null) {
    // Without the commit nobody can ask for its checks, and they must not be skipped.
    const detail = 'This environment waits for checks, so the request must name the commit.';
    await writeDecision(ctx, { ...base, outcome: 'failed', reason: 'not_queued', detail, deploymentId: null });
    return;
  }
  const { serverId, branch } = await requirePlacement(ctx, { appId, environmentId });
  const ref = toPushRef(event.ref);
  const refName = ref?.name ?? branch;
  try {
    const deploymentId = await startDeployment(ctx, {
      id: newId('dep'),
      appId,
      environmentId,
      serverId,
      trigger: 'push',
      ref: event.commitHash ?? refName,
      branch: ref?.kind === 'tag' ? '' : refName,
      release: null,
      requestedByUserId: target.requestedByUserId,
      checks: checksOf(target, event.commitHash),
      commit:
        event.commitHash === null
          ? undefined
          : {
              hash: event.commitHash,
              subject: subjectOf(event.commitMessage),
              author: storableText(event.commitAuthor),
            },
    });
    await writeDecision(ctx, { ...base, ...decision, deploymentId });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await writeDecision(ctx, {
      ...base,
      outcome: 'failed',
      reason: 'not_queued',
      detail: error.message,
      deploymentId: null,
    });
  }
}

/** Returns the checks to wait for; undefined without required checks. */
function checksOf({ requiredChecks, checksTimeoutMinutes }: PushTarget, commitHash: string | null) {
  if (requiredChecks.length === 0 || commitHash === null) return undefined;
  return { commitHash, names: requiredChecks, timeoutMinutes: checksTimeoutMinutes };
}
