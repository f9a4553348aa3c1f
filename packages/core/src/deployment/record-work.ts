// Owns what becomes of reported builds and roll-outs. Must never trust a value that an agent sent.
import type { BuildStatus, RolloutStatus } from '@fairlead/contract/agent';
import type { OrganizationCtx } from '../kernel/index.ts';
import { applyStep, type StepFacts } from './apply-step.ts';
import { auditDeployment } from './audit.ts';
import { takeSecrets } from './check-secrets.ts';
import { type DeploymentEvent, isFinished, step, type WorkOutcome } from './machine.ts';
import {
  type ReportedArtifact,
  type ReportedCommit,
  readArtifact,
  readCommit,
  readOutcome,
  readSteps,
} from './reported.ts';
import { type DeploymentRow, findUnfinished, lockApps, machineOf } from './store.ts';

export interface WorkReport {
  readonly serverId: string;
  readonly builds: readonly BuildStatus[];
  readonly rollouts: readonly RolloutStatus[];
}

/**
 * Moves deployments on by what their server reports. Statuses of finished or foreign deployments are ignored: a report
 * repeats until the server has seen that its work is over.
 */
export async function recordWork(ctx: OrganizationCtx, input: WorkReport): Promise<void> {
  const placed = await ctx.tx.placement.findMany({
    where: {
      organizationId: ctx.organizationId,
      serverId: input.serverId,
      app: { deployments: { some: { state: { in: ['building', 'rolling_out'] } } } },
    },
    select: { appId: true, environmentId: true, app: { select: { command: true } } },
  });
  if (placed.length === 0) return;
  const appIds = [...new Set(placed.map(({ appId }) => appId))];
  await lockApps(ctx, appIds);
  const rows = await findUnfinished(ctx, { appId: { in: appIds } }, ['building', 'rolling_out']);
  const builds = new Map(input.builds.map((status) => [status.deploymentId, status]));
  const rollouts = new Map(input.rollouts.map((status) => [status.deploymentId, status]));

  for (const row of rows) {
    const home = placed.find(({ appId, environmentId }) => appId === row.appId && environmentId === row.environmentId);
    if (home === undefined) continue;
    const build = builds.get(row.id);
    const rollout = rollouts.get(row.id);
    if (row.state === 'building' && build !== undefined) {
      await recordBuild(ctx, input.serverId, row, build, home.app.command);
    } else if (row.state === 'rolling_out' && rollout !== undefined) {
      const outcome = readOutcome(rollout);
      if (outcome !== null) await record(ctx, row, { kind: 'rollout', outcome }, input.serverId, rollout.steps);
    }
  }
}

async function recordBuild(
  ctx: OrganizationCtx,
  serverId: string,
  row: DeploymentRow,
  status: BuildStatus,
  command: readonly string[],
): Promise<void> {
  const reported = readOutcome(status);
  if (reported === null) return;
  const commit = readCommit(status.commit);
  const artifact = readArtifact(status.artifact, command);
  let outcome = reported.kind === 'succeeded' ? checkBuilt(commit, artifact) : reported;
  let secretSnapshotId: string | null = null;
  if (outcome.kind === 'succeeded') {
    const { appId, environmentId } = row;
    const taken = await takeSecrets(ctx, { appId, environmentId, serverId });
    secretSnapshotId = taken.snapshotId;
    // They were well when the build began, and somebody changed them since.
    if (taken.failure !== null) outcome = { kind: 'failed', failure: taken.failure };
  }
  await record(ctx, row, { kind: 'build', outcome }, serverId, status.steps, { commit, artifact, secretSnapshotId });
}

function checkBuilt(commit: ReportedCommit | null, artifact: ReportedArtifact | null): WorkOutcome {
  if (commit === null || artifact === null)
    return { kind: 'failed', failure: { code: 'build.internal', message: null } };
  if (artifact.command.length === 0) return { kind: 'failed', failure: { code: 'build.not_detected', message: null } };
  return { kind: 'succeeded' };
}

async function record(
  ctx: OrganizationCtx,
  row: DeploymentRow,
  event: DeploymentEvent,
  serverId: string,
  steps: BuildStatus['steps'],
  built: Pick<StepFacts, 'commit' | 'artifact' | 'secretSnapshotId'> = {},
): Promise<void> {
  const result = step(machineOf(row), event, ctx.clock.now());
  await applyStep(ctx, row, result, { serverId, steps: readSteps(steps), ...built });
  const { state } = result.machine;
  if (state === row.state || !isFinished(state)) return;
  await auditDeployment(
    { ...ctx, actor: { kind: 'agent', serverId } },
    state === 'live' ? 'deployment.promote' : 'deployment.fail',
    {
      id: row.id,
      appId: row.appId,
      number: row.number,
      before: { state: row.state },
      after: { state, failureCode: result.failure?.code ?? null },
    },
  );
}
