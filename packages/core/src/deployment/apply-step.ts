// Owns turning a step of the machine into rows: state, steps, release, live release, the server's version, the next job.
import { errorTable, isErrorCode } from '@fairlead/contract/errors';
import { newId, parseId } from '@fairlead/contract/ids';
import { advanceDeploymentJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import { clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';
import { type Failure, isFinished, type Step } from './machine.ts';
import type { ReportedArtifact, ReportedCommit } from './reported.ts';
import { type StepRow, settled, withReported } from './steps.ts';
import type { DeploymentRow } from './store.ts';

/** Longer than two reports of a server are apart; without one the lease is lost and a worker tells the server again. */
const leaseMs = 90_000;

export interface StepFacts {
  readonly serverId: string;
  /** The worker that takes the lease with this step. */
  readonly leaseOwner?: string;
  readonly steps?: readonly StepRow[];
  readonly commit?: ReportedCommit | null;
  readonly artifact?: ReportedArtifact | null;
  /** The secrets that a release made with this step runs with. */
  readonly secretSnapshotId?: string | null;
}

export async function applyStep(
  ctx: OrganizationCtx,
  row: DeploymentRow,
  result: Step,
  facts: StepFacts,
): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const { machine, failure, actions } = result;
  const moved = machine.state !== row.state;

  const releaseId = actions.includes('create_release') ? await createRelease(ctx, row, facts) : row.releaseId;
  await writeSteps(ctx, row, settled(withReported(row.steps, facts.steps ?? []), machine.state, now));

  const finished = isFinished(machine.state);
  const heard = machine.heartbeatAt !== row.heartbeatAt;
  await tx.deployment.updateMany({
    where: { id: row.id, organizationId },
    data: {
      state: machine.state,
      releaseId,
      heartbeatAt: machine.heartbeatAt,
      deadlineAt: machine.deadlineAt,
      ...(facts.leaseOwner === undefined ? {} : { leaseOwner: facts.leaseOwner }),
      ...(facts.leaseOwner !== undefined || heard || moved ? { leaseUntil: new Date(now.getTime() + leaseMs) } : {}),
      ...(moved && row.state === 'queued' && !finished ? { startedAt: now } : {}),
      ...(facts.commit ? commitColumns(facts.commit) : {}),
      ...(finished ? { finishedAt: now, leaseOwner: null, leaseUntil: null } : {}),
      ...(machine.state === 'cancelled' ? { cancelRequestedAt: now } : {}),
      ...(failure === null ? {} : { failureCode: failure.code, failureMessage: sentence(failure) }),
    },
  });

  if (actions.includes('make_live') && releaseId !== null) {
    await tx.placement.updateMany({
      where: { organizationId, appId: row.appId, environmentId: row.environmentId },
      data: { liveReleaseId: releaseId },
    });
  }
  if (actions.includes('bump_server')) await bumpServer(ctx, facts.serverId);
  if (actions.includes('start_next')) await enqueueNext(ctx, row);
  await notifyChange(ctx, { kind: 'deployment', id: row.id, appId: row.appId });
  if (moved) ctx.log.info({ deploymentId: row.id, from: row.state, to: machine.state }, 'a deployment moved on');
}

/** Enqueues a look at a deployment; one that waits already is not doubled. */
export async function enqueueAdvance(ctx: OrganizationCtx, deploymentId: string): Promise<void> {
  await enqueue(
    ctx.tx,
    advanceDeploymentJob,
    { organizationId: ctx.organizationId, deploymentId: parseId('dep', deploymentId) },
    { key: `deployment.advance:${deploymentId}` },
  );
}

async function enqueueNext(ctx: OrganizationCtx, row: DeploymentRow): Promise<void> {
  const next = await ctx.tx.deployment.findFirst({
    where: {
      organizationId: ctx.organizationId,
      appId: row.appId,
      environmentId: row.environmentId,
      state: 'queued',
      OR: [{ approval: null }, { approval: { state: 'approved' } }],
    },
    select: { id: true },
    orderBy: [{ queuedAt: 'asc' }, { id: 'asc' }],
  });
  if (next !== null) await enqueueAdvance(ctx, next.id);
}

async function createRelease(ctx: OrganizationCtx, row: DeploymentRow, facts: StepFacts): Promise<string> {
  const { artifact, commit } = facts;
  // recordWork fails a build without them before the machine sees a success.
  if (!artifact || !commit) throw new TypeError('a release needs the artifact and the commit it was built from');
  const { tx, organizationId } = ctx;
  const app = await tx.app.findFirstOrThrow({
    where: { id: row.appId, organizationId },
    select: { healthPath: true },
  });
  const newest = await tx.release.findFirst({
    where: { appId: row.appId, organizationId },
    select: { number: true },
    orderBy: { number: 'desc' },
  });
  const id = newId('rel');
  await tx.release.create({
    data: {
      id,
      organizationId,
      appId: row.appId,
      environmentId: row.environmentId,
      number: (newest?.number ?? 0) + 1,
      commitHash: commit.hash,
      commitSubject: commit.subject,
      commitAuthor: commit.author,
      committedAt: commit.committedAt,
      artifactDigest: artifact.digest,
      artifactSizeBytes: artifact.sizeBytes,
      builtOnServerId: facts.serverId,
      runtime: artifact.runtime,
      command: [...artifact.command],
      healthPath: app.healthPath,
      secretSnapshotId: facts.secretSnapshotId ?? null,
      createdAt: ctx.clock.now(),
    },
  });
  return id;
}

async function writeSteps(ctx: OrganizationCtx, row: DeploymentRow, steps: readonly StepRow[]): Promise<void> {
  const changed = steps.filter((each, index) => !sameStep(each, row.steps[index]));
  if (changed.length === 0) return;
  await ctx.tx.$executeRaw`
    UPDATE deployment_step SET state = changed.state, started_at = changed."startedAt", finished_at = changed."finishedAt"
    FROM jsonb_to_recordset(${JSON.stringify(changed)}::jsonb)
      AS changed (name text, state text, "startedAt" timestamptz, "finishedAt" timestamptz)
    WHERE deployment_step.organization_id = ${ctx.organizationId} AND deployment_step.deployment_id = ${row.id}
      AND deployment_step.name = changed.name`;
}

function sameStep(a: StepRow, b: StepRow | undefined): boolean {
  return (
    b !== undefined &&
    a.state === b.state &&
    a.startedAt?.getTime() === b.startedAt?.getTime() &&
    a.finishedAt?.getTime() === b.finishedAt?.getTime()
  );
}

function commitColumns(commit: ReportedCommit) {
  return { commitHash: commit.hash, commitSubject: commit.subject, commitAuthor: commit.author };
}

/** An agent may be newer than our table; then its own words are all there is. */
function sentence(failure: Failure): string {
  const own = isErrorCode(failure.code)
    ? errorTable[failure.code].message
    : errorTable['deployment.interrupted'].message;
  return clipText(failure.message ?? '', 2000) || own;
}
