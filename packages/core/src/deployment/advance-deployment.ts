// Advances a deployment, as a worker's job. The state machine makes the decisions.

import type { ErrorCode } from '@fairlead/contract/errors';
import { findNewestConfig } from '../config/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { lockApps, type Placement, requirePlacement, withoutDrained } from '../placement/index.ts';
import { findBuildSnapshot } from '../secret/index.ts';
import { applyStep } from './apply-step.ts';
import { awaitsApproval } from './approval.ts';
import { type BuildSlots, defaultBuildSlots, findTakenSlots, lockSlots } from './build-slots.ts';
import { checkNetwork } from './check-network.ts';
import { createCheckedSnapshot } from './check-secrets.ts';
import { checkBuild, checkRollout } from './check-servers.ts';
import { awaitsChecks } from './check-wait.ts';
import { findOrigin } from './find-origin.ts';
import { isFinished, step } from './machine.ts';
import { activeDeploymentStates } from './schema.ts';
import { type DeploymentRow, findDeployment, findUnfinished, loadMachine, toTargets } from './store.ts';

export interface AdvanceInput {
  readonly deploymentId: string;
  /** Takes the lease. */
  readonly workerId: string;
  /** Reason why its source cannot be read; null: none is known. */
  readonly sourceRefusal?: ErrorCode | null;
}

/**
 * Starts a waiting deployment, or notifies the servers again about one that lost its lease. Safe to run twice and at
 * the same time: the app is locked, and every decision is made in this transaction.
 */
export async function advanceDeployment(ctx: Ctx, input: AdvanceInput, slots = defaultBuildSlots): Promise<void> {
  const seen = await findDeployment(ctx, input.deploymentId);
  // The deployment was deleted with its app since it was enqueued.
  if (seen === null || isFinished(seen.state)) return;
  await lockApps(ctx, [seen.appId]);
  const row = await findDeployment(ctx, input.deploymentId);
  if (row === null || isFinished(row.state)) return;
  const { machine } = await loadMachine(ctx, row);
  const now = ctx.clock.now();
  if (row.state !== 'queued') {
    const again = step(machine, { kind: 'advance', blocked: false, refusal: null, targets: [] }, now);
    await applyStep(ctx, row, again, { leaseOwner: input.workerId });
    return;
  }
  const begin =
    row.releaseId === null
      ? await prepareBuild(ctx, row, slots, input.sourceRefusal ?? null)
      : await prepareRollout(ctx, row, row.releaseId);
  const { event, ...facts } = begin;
  const result = step(machine, { kind: 'advance', ...event }, now);
  if (result.machine.state === 'queued') return;
  await applyStep(ctx, row, result, { ...facts, leaseOwner: input.workerId });
}

const waits = { event: { blocked: true, refusal: null, targets: [] } } as const;
const isDrained = {
  event: { blocked: false, refusal: { code: 'server.drained', message: null }, targets: [] },
} as const;

async function prepareBuild(ctx: Ctx, row: DeploymentRow, slots: BuildSlots, sourceRefusal: ErrorCode | null) {
  if (await isHeldUp(ctx, row)) return waits;
  if (sourceRefusal !== null)
    return { event: { blocked: false, refusal: { code: sourceRefusal, message: null }, targets: [] } };
  const placement = await placementOf(ctx, row);
  if (placement === null) return isDrained;
  const { id: configId, settings } = await findNewestConfig(ctx, row);
  const buildServerId = (await findBuildServer(ctx, settings.buildServerId)) ?? placement.serverId;
  await lockSlots(ctx);
  if ((await findTakenSlots(ctx, { serverId: buildServerId, except: row.id }, slots)) !== null) return waits;
  const { snapshotId, failure } = await createCheckedSnapshot(ctx, row, placement.servers);
  // Pulling an image runs nothing that could be given any.
  const buildSnapshotId = settings.builder === 'image' ? null : await findBuildSnapshot(ctx, snapshotId);
  // Before a build that could not be rolled out.
  const refusal = failure ?? (await checkBuild(ctx, { row, settings, placement, buildServerId, buildSnapshotId }));
  const origin = { ...row.origin, ...(await findOrigin(ctx, row)), deploymentId: row.id };
  return { event: { blocked: false, refusal, targets: [] }, configId, buildServerId, buildSnapshotId, origin };
}

/** Prepares a rollout; the release fixed its settings and secrets when it was made. */
async function prepareRollout(ctx: Ctx, row: DeploymentRow, releaseId: string) {
  if (await isHeldUp(ctx, row)) return waits;
  const placement = await placementOf(ctx, row);
  if (placement === null) return isDrained;
  const refusal = (await checkNetwork(ctx, { row, releaseId })) ?? (await checkRollout(ctx, { releaseId, placement }));
  return { event: { blocked: false, refusal, targets: toTargets(placement.servers) } };
}

async function isHeldUp(ctx: Ctx, { id, appId, environmentId }: DeploymentRow): Promise<boolean> {
  const underWay = await findUnfinished(ctx, { appId, environmentId }, activeDeploymentStates);
  if (underWay.some((each) => each.id !== id)) return true;
  return (await awaitsApproval(ctx, id)) || (await awaitsChecks(ctx, id));
}

/** Drained servers keep their release. Null: all are drained. */
async function placementOf(ctx: Ctx, { appId, environmentId }: DeploymentRow): Promise<Placement | null> {
  return withoutDrained(await requirePlacement(ctx, { appId, environmentId }));
}

/** Null: the settings name none, or it is drained or deleted. */
async function findBuildServer({ tx, organizationId }: Ctx, wanted: string | null): Promise<string | null> {
  if (wanted === null) return null;
  const where = { id: wanted, organizationId, drainedAt: null };
  return (await tx.server.count({ where })) > 0 ? wanted : null;
}
