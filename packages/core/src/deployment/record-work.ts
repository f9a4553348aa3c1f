// Records reported builds and rollouts.
// Invariant: it never trusts a value that an agent sent.

import { isDeepStrictEqual } from 'node:util';
import { type BuildStatus, type RolloutStatus, StepState } from '@fairlead/contract/agent';
import type { Capability } from '@fairlead/contract/capabilities';
import { lockRuns, readGateRows } from '../benchmark/index.ts';
import { listensOnSocket, loadSettings, type Settings } from '../config/index.ts';
import { missingCapabilityMessage } from '../desired-state/index.ts';
import { touchReport } from '../github/index.ts';
import { notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { lockApps, type Placement, requirePlacement, withoutDrained } from '../placement/index.ts';
import { applyStep, type StepFacts } from './apply-step.ts';
import { auditDeployment } from './audit-deployment.ts';
import { createCheckedSnapshot } from './check-secrets.ts';
import { type DeploymentEvent, isFinished, step, type WorkOutcome } from './machine.ts';
import {
  imageCommit,
  type ReportedArtifact,
  type ReportedCommit,
  readArtifact,
  readCommit,
  readOutcome,
  readSteps,
  uploadedCommit,
} from './read-report.ts';
import { activeDeploymentStates } from './schema.ts';
import { type DeploymentRow, findUnfinished, loadMachine, toTargets } from './store.ts';

export interface WorkReport {
  readonly serverId: string;
  readonly builds: readonly BuildStatus[];
  readonly rollouts: readonly RolloutStatus[];
}

/**
 * Advances deployments by one of their servers' reports. Statuses of finished or foreign deployments are ignored: a
 * report repeats until the server has seen the end of its work.
 */
export async function recordWork(ctx: OrganizationCtx, input: WorkReport): Promise<void> {
  const { serverId } = input;
  const mine = await ctx.tx.deployment.findMany({
    where: {
      organizationId: ctx.organizationId,
      state: { in: [...activeDeploymentStates] },
      OR: [{ buildServerId: serverId }, { servers: { some: { serverId } } }],
    },
    select: { id: true, appId: true },
  });
  if (mine.length === 0) return;
  await lockApps(ctx, [...new Set(mine.map(({ appId }) => appId))]);
  // The same report may advance a run after a deployment has given servers a new state.
  await lockRuns(ctx, { serverId });
  const rows = await findUnfinished(ctx, { id: { in: mine.map(({ id }) => id) } }, activeDeploymentStates);
  const builds = new Map(input.builds.map((status) => [status.deploymentId, status]));
  const rollouts = new Map(input.rollouts.map((status) => [status.deploymentId, status]));

  for (const row of rows) {
    const roll = row.servers.find((each) => each.serverId === serverId);
    const build = builds.get(row.id);
    const rollout = rollouts.get(row.id);
    const revert = roll?.revertId ? rollouts.get(roll.revertId) : undefined;
    if (row.state === 'building') {
      if (build !== undefined && row.buildServerId === serverId) await recordBuild(ctx, serverId, row, build);
    } else if (roll?.state === 'rolling_out' && rollout !== undefined) {
      await recordRollout(ctx, serverId, row, rollout);
    } else if (roll?.state === 'reverting' && revert !== undefined) {
      const outcome = readOutcome(revert);
      if (outcome !== null) await record(ctx, row, { kind: 'revert', serverId, outcome }, serverId, {});
    }
  }
}

async function recordRollout(
  ctx: OrganizationCtx,
  serverId: string,
  row: DeploymentRow,
  status: RolloutStatus,
): Promise<void> {
  const outcome = readOutcome(status);
  if (outcome === null) return;
  // The first server's steps stand for all. Of other servers only the fetch counts, which has a row of its own.
  const leads = row.servers[0]?.serverId === serverId;
  const steps = readSteps(status.steps).filter(({ name }) => leads || name === 'fetch');
  const event: DeploymentEvent = { kind: 'rollout', serverId, outcome, released: isReleased(status) };
  await record(ctx, row, event, serverId, { steps });
  await recordGate(ctx, serverId, row, status);
}

/** Stores the rounds of the benchmark gate; a restarted agent measures again, and its newest rounds count. */
async function recordGate(
  ctx: OrganizationCtx,
  serverId: string,
  row: DeploymentRow,
  { benchmarkRows, liveBenchmarkRows }: RolloutStatus,
): Promise<void> {
  if (benchmarkRows.length === 0) return;
  const { tx, organizationId } = ctx;
  const gateRows = readGateRows(benchmarkRows, liveBenchmarkRows);
  const where = { organizationId, deploymentId: row.id, serverId };
  const known = await tx.deploymentServer.findFirst({ where, select: { gateRows: true } });
  // PostgreSQL orders the keys of an object by itself.
  if (isDeepStrictEqual(known?.gateRows, gateRows)) return;
  await tx.deploymentServer.updateMany({ where, data: { gateRows } });
  await touchReport(ctx, row);
  await notifyChange(ctx, { kind: 'deployment', id: row.id, appId: row.appId });
}

/** The release command is over, or the instances are on their way already. */
function isReleased({ steps }: RolloutStatus): boolean {
  const isPast = (state: StepState): boolean => state === StepState.DONE || state === StepState.SKIPPED;
  return steps.some(({ name, state }) =>
    name === 'release' ? isPast(state) : name === 'start' && (isPast(state) || state === StepState.RUNNING),
  );
}

async function recordBuild(
  ctx: OrganizationCtx,
  serverId: string,
  row: DeploymentRow,
  status: BuildStatus,
): Promise<void> {
  const reported = readOutcome(status);
  if (reported === null) return;
  const { appId, environmentId } = row;
  const whole = await requirePlacement(ctx, { appId, environmentId });
  // A build that began before the drain of all its servers is still rolled out there.
  const placement = withoutDrained(whole) ?? whole;
  const settings = await loadSettings(ctx, row.configId);
  const artifact = readArtifact(status.artifact, await startCommand(ctx, row, settings));
  const commit = commitOf(row, settings, status, artifact, ctx.clock.now());
  let outcome = reported.kind === 'succeeded' ? await checkBuilt(ctx, placement, settings, commit, artifact) : reported;
  let secretSnapshotId: string | null = null;
  if (outcome.kind === 'succeeded') {
    const taken = await createCheckedSnapshot(ctx, row, placement.servers);
    secretSnapshotId = taken.snapshotId;
    // The checks passed when the build began, and a change since then made them fail.
    if (taken.failure !== null) outcome = { kind: 'failed', failure: taken.failure };
  }
  const event: DeploymentEvent = { kind: 'build', outcome, targets: toTargets(placement.servers) };
  await record(ctx, row, event, serverId, { steps: readSteps(status.steps), commit, artifact, secretSnapshotId });
}

function commitOf(
  { uploadDigest }: DeploymentRow,
  { builder, image }: Settings,
  status: BuildStatus,
  artifact: ReportedArtifact | null,
  at: Date,
): ReportedCommit | null {
  if (builder === 'image') return artifact === null ? null : imageCommit(image, artifact.digest, at);
  return uploadDigest === null ? readCommit(status.commit) : uploadedCommit(uploadDigest, at);
}

/** The settings' own, else the app's; empty: what the builder chose. */
async function startCommand(
  ctx: OrganizationCtx,
  { appId }: DeploymentRow,
  settings: Settings,
): Promise<readonly string[]> {
  if (settings.startCommand.length > 0) return settings.startCommand;
  const app = await ctx.tx.app.findFirstOrThrow({
    where: { id: appId, organizationId: ctx.organizationId },
    select: { command: true },
  });
  return app.command;
}

async function checkBuilt(
  ctx: OrganizationCtx,
  placement: Placement,
  settings: Settings,
  commit: ReportedCommit | null,
  artifact: ReportedArtifact | null,
): Promise<WorkOutcome> {
  if (commit === null || artifact === null)
    return { kind: 'failed', failure: { code: 'build.internal', message: null } };
  // An image may define its own start command.
  if (artifact.command.length === 0 && artifact.kind !== 'image')
    return { kind: 'failed', failure: { code: 'build.not_detected', message: null } };
  const onSocket = listensOnSocket(settings, artifact.plan);
  if (artifact.kind === 'image' && onSocket) {
    return { kind: 'failed', failure: { code: 'deployment.socket_in_container', message: null } };
  }
  const need: Capability | null = artifact.kind === 'image' ? 'container' : onSocket ? 'socket' : null;
  if (need !== null) {
    const without = await ctx.tx.server.findFirst({
      where: {
        organizationId: ctx.organizationId,
        id: { in: placement.servers.map(({ serverId }) => serverId) },
        NOT: { capabilities: { has: need } },
      },
      select: { name: true },
      orderBy: { name: 'asc' },
    });
    if (without !== null) {
      const message = missingCapabilityMessage(without.name, need);
      return { kind: 'failed', failure: { code: 'deployment.capability_missing', message } };
    }
  }
  return { kind: 'succeeded' };
}

async function record(
  ctx: OrganizationCtx,
  row: DeploymentRow,
  event: DeploymentEvent,
  serverId: string,
  facts: StepFacts,
): Promise<void> {
  const { machine } = await loadMachine(ctx, row);
  const result = step(machine, event, ctx.clock.now());
  await applyStep(ctx, row, result, facts);
  const { state } = result.machine;
  if (state === row.state || !isFinished(state)) return;
  await auditDeployment(
    { ...ctx, actor: { kind: 'agent', serverId } },
    state === 'live' ? 'deployment.go_live' : 'deployment.fail',
    {
      id: row.id,
      appId: row.appId,
      number: row.number,
      before: { state: row.state },
      after: { state, failureCode: result.failure?.code ?? row.failureCode },
    },
  );
}
