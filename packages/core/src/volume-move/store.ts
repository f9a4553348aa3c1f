// Reads and locks moves, with the facts that decide their next step.
import { parseId } from '@fairlead/contract/ids';
import { isFinished } from '../deployment/index.ts';
import { deploymentStateSchema } from '../deployment/schema.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { CopyFact, MoveFacts } from './machine.ts';
import { type MoveState, moveStateSchema } from './schema.ts';

export const unfinishedDeployments = deploymentStateSchema.options.filter((state) => !isFinished(state));

export interface MoveRow {
  readonly id: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly sourceServerId: string;
  readonly targetServerId: string;
  readonly state: MoveState;
  readonly isFromSnapshots: boolean;
  readonly deadlineAt: Date | null;
  readonly deploymentId: string | null;
  readonly isCancelled: boolean;
}

/** Returns null for a move of a deleted app too. The app must be locked before the move is changed. */
export async function findMove(
  { tx, organizationId }: OrganizationCtx,
  { moveId }: { readonly moveId: string },
): Promise<MoveRow | null> {
  const row = await tx.volumeMove.findFirst({ where: { id: moveId, organizationId } });
  return row === null ? null : { ...row, state: moveStateSchema.parse(row.state) };
}

export async function loadFacts(ctx: OrganizationCtx, move: MoveRow): Promise<MoveFacts> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId, targetServerId } = move;
  const snapshots = await tx.volumeSnapshot.findMany({
    where: { moveId: move.id, organizationId },
    select: { state: true, failureMessage: true },
  });
  const restores = await tx.volumeRestore.findMany({
    where: { moveId: move.id, organizationId },
    select: { state: true, failureMessage: true },
  });
  const target = await tx.server.findFirst({
    where: { id: targetServerId, organizationId },
    select: { drainedAt: true },
  });
  return {
    snapshots: snapshots.map(toFact),
    restores: restores.map(toFact),
    isTargetOpen: target !== null && target.drainedAt === null,
    rollout: await findRollout(ctx, { appId, environmentId, targetServerId, deploymentId: move.deploymentId }),
    isCancelled: move.isCancelled,
  };
}

function toFact({ state, failureMessage }: { state: string; failureMessage: string | null }): CopyFact {
  return {
    state: state === 'stored' || state === 'done' ? 'done' : state === 'failed' ? state : 'running',
    failureMessage,
  };
}

async function findRollout(
  { tx, organizationId }: OrganizationCtx,
  {
    deploymentId,
    targetServerId,
    ...place
  }: Pick<MoveRow, 'appId' | 'environmentId' | 'targetServerId' | 'deploymentId'>,
): Promise<MoveFacts['rollout']> {
  // An app that was never live has nothing to roll out.
  if (deploymentId === null) return 'live';
  const where = { ...place, organizationId };
  if ((await tx.deployment.count({ where: { ...where, state: { in: [...unfinishedDeployments] } } })) > 0)
    return 'under_way';
  const live = await tx.placementServer.count({
    where: { organizationId, serverId: targetServerId, placement: place, liveReleaseId: { not: null } },
  });
  return live > 0 ? 'live' : 'ended';
}

/** Returns the running moves of all organizations, and of their deleted apps. */
export async function loadNames(
  { tx, organizationId }: OrganizationCtx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.server.findMany({
    where: { organizationId, id: { in: [...ids] } },
    select: { id: true, name: true },
  });
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export function placeOf({ appId, environmentId }: Pick<MoveRow, 'appId' | 'environmentId'>) {
  return { appId: parseId('app', appId), environmentId: parseId('env', environmentId) };
}
