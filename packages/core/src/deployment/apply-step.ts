// Applies a transition of the state machine to the rows: state, steps, servers, live releases, versions and the next
// jobs.
import { errorTable, isErrorCode } from '@fairlead/contract/errors';
import { newId, parseId } from '@fairlead/contract/ids';
import { advanceDeploymentJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import { touchReport } from '../github/index.ts';
import { clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import type { Origin } from '../release/index.ts';
import { bumpServer } from '../server/index.ts';
import { createRelease } from './create-release.ts';
import { type Failure, isFinished, type Machine, type ServerRoll, type Step } from './machine.ts';
import type { ReportedArtifact, ReportedCommit } from './read-report.ts';
import { positionOf, type StepRow, settled, withReported } from './steps.ts';
import type { DeploymentRow, RollRow } from './store.ts';

/**
 * Longer than the interval of a server's reports. Without a report the lease is lost, and a worker notifies the server
 * again.
 */
const leaseMs = 90_000;

/** Maximum number of waiting builds whose readers hear of a free slot at once. */
const notifiedMax = 50;

export interface StepFacts {
  /** The worker that takes the lease with this step. */
  readonly leaseOwner?: string;
  /** The settings that it builds and runs with, chosen with this step. */
  readonly configId?: string | null;
  readonly buildServerId?: string;
  /** The secrets that its build is given of. */
  readonly buildSnapshotId?: string | null;
  /** Content of its FAIRLEAD_ variables. */
  readonly origin?: Origin;
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
  facts: StepFacts = {},
): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const { machine, failure, actions } = result;
  const moved = machine.state !== row.state;

  const releaseId = actions.includes('create_release') ? await createRelease(ctx, row, facts) : row.releaseId;
  await writeSteps(ctx, row, settled(withReported(row.steps, facts.steps ?? []), machine.state, now));
  await writeRolls(ctx, row, machine, releaseId);

  const finished = isFinished(machine.state);
  const heard = machine.heartbeatAt !== row.heartbeatAt;
  await tx.deployment.updateMany({
    where: { id: row.id, organizationId },
    data: {
      state: machine.state,
      releaseId,
      ending: machine.ending,
      heartbeatAt: machine.heartbeatAt,
      deadlineAt: machine.deadlineAt,
      ...(facts.configId === undefined ? {} : { configId: facts.configId }),
      ...(facts.buildServerId === undefined ? {} : { buildServerId: facts.buildServerId }),
      ...(facts.buildSnapshotId === undefined ? {} : { buildSnapshotId: facts.buildSnapshotId }),
      ...(facts.leaseOwner === undefined ? {} : { leaseOwner: facts.leaseOwner }),
      ...(facts.leaseOwner !== undefined || heard || moved ? { leaseUntil: new Date(now.getTime() + leaseMs) } : {}),
      ...(moved && row.state === 'queued' && !finished ? { startedAt: now } : {}),
      ...(facts.origin === undefined ? {} : { origin: facts.origin }),
      ...(facts.commit ? commitColumns(row, facts.commit) : {}),
      ...(finished ? { finishedAt: now, leaseOwner: null, leaseUntil: null } : {}),
      ...(machine.state === 'cancelled' || machine.ending === 'cancelled' ? { cancelRequestedAt: now } : {}),
      ...(await failureColumns(ctx, row, machine, failure)),
    },
  });

  if (actions.includes('bump_servers')) await bumpAll(ctx, row, machine, facts);
  if (actions.includes('start_next')) await enqueueNext(ctx, row);
  if (actions.includes('free_slot')) await enqueueWaitingBuilds(ctx, row);
  if (actions.includes('free_slot') || (row.state === 'queued' && finished)) await notifyBuildQueue(ctx, row);
  if (moved) await touchReport(ctx, row);
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
      NOT: { checkWait: { dueAt: { not: null } } },
    },
    select: { id: true },
    orderBy: [{ queuedAt: 'asc' }, { id: 'asc' }],
  });
  if (next !== null) await enqueueAdvance(ctx, next.id);
}

/** A few of those that waited longest: one of them gets the slot, the others go on waiting. */
async function enqueueWaitingBuilds(ctx: OrganizationCtx, row: DeploymentRow): Promise<void> {
  const waiting = await ctx.tx.deployment.findMany({
    where: { organizationId: ctx.organizationId, state: 'queued', releaseId: null, NOT: { id: row.id } },
    select: { id: true },
    orderBy: [{ queuedAt: 'asc' }, { id: 'asc' }],
    take: 5,
  });
  for (const { id } of waiting) await enqueueAdvance(ctx, id);
}

/** The pages of builds that wait show their position. */
async function notifyBuildQueue(ctx: OrganizationCtx, row: DeploymentRow): Promise<void> {
  const waiting = await ctx.tx.deployment.findMany({
    where: {
      organizationId: ctx.organizationId,
      state: { in: ['queued', 'building'] },
      releaseId: null,
      NOT: { id: row.id },
    },
    select: { id: true, appId: true },
    orderBy: [{ queuedAt: 'asc' }, { id: 'asc' }],
    take: notifiedMax,
  });
  for (const { id, appId } of waiting) await notifyChange(ctx, { kind: 'deployment', id, appId });
}

/** All that have a part in it, in one order, so that two transactions never wait for each other in a circle. */
async function bumpAll(ctx: OrganizationCtx, row: DeploymentRow, machine: Machine, facts: StepFacts): Promise<void> {
  const builder = facts.buildServerId ?? row.buildServerId;
  const ids = new Set([...machine.rolls.map(({ serverId }) => serverId), ...(builder === null ? [] : [builder])]);
  const known = await ctx.tx.server.findMany({
    where: { id: { in: [...ids] }, organizationId: ctx.organizationId },
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  for (const { id } of known) await bumpServer(ctx, id);
}

async function writeRolls(
  ctx: OrganizationCtx,
  row: DeploymentRow,
  machine: Machine,
  releaseId: string | null,
): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const known = new Map(row.servers.map((each) => [each.serverId, each]));
  for (const [position, roll] of machine.rolls.entries()) {
    const before = known.get(roll.serverId);
    if (before !== undefined && sameRoll(before, roll)) continue;
    const data = {
      state: roll.state,
      heartbeatAt: roll.heartbeatAt,
      deadlineAt: roll.deadlineAt,
      failureMessage: roll.failureMessage,
      ...(roll.state === 'rolling_out' && before?.state !== 'rolling_out' ? { startedAt: now } : {}),
      ...(isOver(roll) ? { finishedAt: now } : {}),
      ...(roll.state === 'reverting' && !before?.revertId ? { revertId: newId('dep') } : {}),
    };
    const { serverId, formerReleaseId } = roll;
    await tx.deploymentServer.upsert({
      where: { deploymentId_serverId: { deploymentId: row.id, serverId } },
      create: { ...data, organizationId, deploymentId: row.id, serverId, position, formerReleaseId },
      update: data,
    });
    if (before?.state === roll.state) continue;
    if (roll.state === 'live') await serve(ctx, row, serverId, releaseId);
    if (roll.state === 'reverted') await serve(ctx, row, serverId, formerReleaseId);
  }
}

function isOver({ state }: ServerRoll): boolean {
  return state === 'live' || state === 'failed' || state === 'cancelled' || state === 'reverted';
}

function sameRoll(before: RollRow, roll: ServerRoll): boolean {
  return (
    before.state === roll.state &&
    before.heartbeatAt?.getTime() === roll.heartbeatAt?.getTime() &&
    before.deadlineAt?.getTime() === roll.deadlineAt?.getTime() &&
    before.failureMessage === roll.failureMessage
  );
}

/** Makes the release the live one of the app on that server. */
async function serve(
  ctx: OrganizationCtx,
  { appId, environmentId }: DeploymentRow,
  serverId: string,
  liveReleaseId: string | null,
): Promise<void> {
  await ctx.tx.placementServer.updateMany({
    where: { placement: { appId, environmentId }, serverId, organizationId: ctx.organizationId },
    data: { liveReleaseId },
  });
}

async function writeSteps(ctx: OrganizationCtx, row: DeploymentRow, steps: readonly StepRow[]): Promise<void> {
  const changed = steps.filter(
    (each) =>
      !sameStep(
        each,
        row.steps.find(({ name }) => name === each.name),
      ),
  );
  if (changed.length === 0) return;
  const rows = changed.map((each) => ({ ...each, id: newId('stp'), position: positionOf(each.name) }));
  await ctx.tx.$executeRaw`
    INSERT INTO deployment_step (id, organization_id, deployment_id, name, position, state, started_at, finished_at)
    SELECT changed.id, ${ctx.organizationId}, ${row.id}, changed.name, changed.position, changed.state,
           changed."startedAt", changed."finishedAt"
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      AS changed (id text, name text, position int, state text, "startedAt" timestamptz, "finishedAt" timestamptz)
    ON CONFLICT (deployment_id, name) DO UPDATE
      SET state = excluded.state, started_at = excluded.started_at, finished_at = excluded.finished_at`;
}

function sameStep(a: StepRow, b: StepRow | undefined): boolean {
  return (
    b !== undefined &&
    a.state === b.state &&
    a.startedAt?.getTime() === b.startedAt?.getTime() &&
    a.finishedAt?.getTime() === b.finishedAt?.getTime()
  );
}

/**
 * Stores the default branch's name that a build reported; a later deployment of the same commit takes it from here.
 */
function commitColumns({ ref, origin }: DeploymentRow, commit: ReportedCommit) {
  const branch = commit.branch ?? '';
  return {
    commitHash: commit.hash,
    commitSubject: commit.subject,
    commitAuthor: commit.author,
    ...(branch === '' ? {} : { ref: ref === '' ? branch : ref, origin: { ...origin, branch } }),
  };
}

/** Stores the first failure only; at the end it adds the servers that did not come back. */
async function failureColumns(ctx: OrganizationCtx, row: DeploymentRow, machine: Machine, failure: Failure | null) {
  const stuck = isFinished(machine.state) && row.ending !== null ? machine.rolls.filter(staysNew(row)) : [];
  if (failure === null && stuck.length === 0) return {};
  const servers = await ctx.tx.server.findMany({
    where: { organizationId: ctx.organizationId, id: { in: machine.rolls.map(({ serverId }) => serverId) } },
    select: { id: true, name: true },
  });
  const nameOf = (id: string): string => servers.find((each) => each.id === id)?.name ?? 'a server';
  if (failure === null) {
    const names = stuck.map(({ serverId }) => nameOf(serverId)).join(', ');
    return {
      failureMessage: clipText(
        `${row.failureMessage ?? ''} The new release still serves on ${names}: the rollback failed there. Roll back again.`.trim(),
        2000,
      ),
    };
  }
  const told = sentence(failure);
  const message =
    failure.serverId === undefined ? told : `On ${nameOf(failure.serverId)}: ${told} The other servers are unchanged.`;
  return { failureCode: failure.code, failureMessage: clipText(message, 2000) };
}

/** Those that were on the way back and did not arrive. */
function staysNew(row: DeploymentRow) {
  const reverting = new Set(row.servers.filter(({ revertId }) => revertId !== null).map(({ serverId }) => serverId));
  return ({ serverId, state }: ServerRoll): boolean => state === 'failed' && reverting.has(serverId);
}

/** An agent may be newer than our table; then only its own text describes the failure. */
function sentence(failure: Failure): string {
  const own = isErrorCode(failure.code)
    ? errorTable[failure.code].message
    : errorTable['deployment.interrupted'].message;
  return clipText(failure.message ?? '', 2000) || own;
}
