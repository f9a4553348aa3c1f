// Takes the next step of a move. Safe to run twice and in two workers: the step is decided and recorded under the lock of
// the app.
import { errorTable } from '@fairlead/contract/errors';
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { type AppError, type Ctx, clipText, notifyChange, type SystemCtx } from '../kernel/index.ts';
import { attachServer, detachServer, findPlacement, lockApps } from '../placement/index.ts';
import { bumpServer } from '../server/index.ts';
import { deployMoved } from './deploy-moved.ts';
import { copyMs, type MoveStep, step } from './machine.ts';
import { createRestores } from './restores.ts';
import { activeMoveStates, type VolumeMoveRef } from './schema.ts';
import { findMove, loadFacts, loadNames, type MoveRow, placeOf } from './store.ts';

/** Time for which the server that the app has left keeps its copies. */
const leftMs = 7 * 24 * 60 * 60_000;
/** Further steps of one call: a move from snapshots has no copies to wait for, and an app without a release no rollout. */
const stepsMax = 4;

/** Returns the active moves of all organizations. */
export async function listActiveMoves({ tx }: SystemCtx) {
  const rows = await tx.volumeMove.findMany({
    where: { state: { in: [...activeMoveStates] } },
    orderBy: { id: 'asc' },
    select: { id: true, organizationId: true },
  });
  return rows.map(({ id, organizationId }) => ({
    moveId: parseId('vmv', id),
    organizationId: parseId('org', organizationId),
  }));
}

export async function advanceMove(ctx: Ctx, ref: VolumeMoveRef): Promise<void> {
  const seen = await findMove(ctx, ref);
  if (seen === null) return;
  await lockApps(ctx, [seen.appId]);
  for (let count = 0; count < stepsMax; count += 1) {
    const move = await findMove(ctx, ref);
    if (move === null) return;
    const next = step(move, await loadFacts(ctx, move), ctx.clock.now());
    if (next.kind === 'wait') return;
    await act(ctx, move, next);
    await notifyChange(ctx, { kind: 'server', id: move.sourceServerId });
    await notifyChange(ctx, { kind: 'app', id: move.appId, appId: move.appId });
    ctx.log.info({ moveId: move.id, from: move.state, step: next.kind }, 'advanced the move of an app');
  }
}

/** Fails a move whose step was refused, because the same step would be refused again. */
export async function failMove(ctx: Ctx, ref: VolumeMoveRef, { code, message }: AppError): Promise<void> {
  const seen = await findMove(ctx, ref);
  if (seen === null) return;
  await lockApps(ctx, [seen.appId]);
  const move = await findMove(ctx, ref);
  if (move !== null && isActive(move)) await act(ctx, move, { kind: 'fail', code, message });
}

export function isActive({ state }: Pick<MoveRow, 'state'>): boolean {
  return activeMoveStates.some((active) => active === state);
}

async function act(ctx: Ctx, move: MoveRow, next: Exclude<MoveStep, { kind: 'wait' }>): Promise<void> {
  switch (next.kind) {
    case 'restore':
      return restore(ctx, move);
    case 'deploy':
      return deploy(ctx, move);
    case 'succeed':
      return end(ctx, move);
    case 'cancel':
      return fail(ctx, move, 'cancelled', null);
    case 'fail':
      return fail(ctx, move, 'failed', next.message ?? errorTable[next.code].message);
  }
}

async function restore(ctx: Ctx, move: MoveRow): Promise<void> {
  const { tx, organizationId } = ctx;
  const snapshots = await tx.volumeSnapshot.findMany({
    where: { moveId: move.id, organizationId, state: 'stored' },
    select: { id: true, volumeId: true },
    orderBy: { id: 'asc' },
  });
  await createRestores(ctx, { moveId: move.id, serverId: move.targetServerId, snapshots });
  await update(ctx, move, { state: 'restoring', deadlineAt: new Date(ctx.clock.now().getTime() + copyMs) });
  await bumpServer(ctx, move.targetServerId);
}

async function deploy(ctx: Ctx, move: MoveRow): Promise<void> {
  // The state comes first: while volumes are copied, no server may be added.
  await update(ctx, move, { state: 'deploying', deadlineAt: null });
  await attachServer(ctx, { ...placeOf(move), serverId: parseId('srv', move.targetServerId) });
  // Moving apps needs the right to approve deployments of protected environments, and the release stays the same.
  const deployment = await deployMoved(ctx, placeOf(move), { isApproved: true });
  await update(ctx, move, { deploymentId: deployment?.deploymentId ?? null });
}

async function end(ctx: Ctx, move: MoveRow): Promise<void> {
  const now = ctx.clock.now();
  const { sourceServerId, isFromSnapshots } = move;
  if (await hasServer(ctx, move, sourceServerId)) {
    await detachServer(ctx, { ...placeOf(move), serverId: parseId('srv', sourceServerId) });
  }
  await update(ctx, move, {
    state: 'succeeded',
    finishedAt: now,
    leftServerId: sourceServerId,
    // A server that was lost may have newer data than the snapshot, so it keeps them.
    deleteLeftAt: isFromSnapshots ? null : new Date(now.getTime() + leftMs),
  });
  await audit(ctx, move, 'volume_move.end', { state: 'succeeded' });
}

/** The app runs on the source again, with the volumes that it had. */
async function fail(
  ctx: Ctx,
  move: MoveRow,
  state: 'failed' | 'cancelled',
  failureMessage: string | null,
): Promise<void> {
  const { tx, organizationId } = ctx;
  const { sourceServerId, targetServerId } = move;
  const now = ctx.clock.now();
  await update(ctx, move, {
    state,
    failureMessage: failureMessage === null ? null : clipText(failureMessage, 1000),
    finishedAt: now,
    deadlineAt: null,
    ...(move.state === 'copying'
      ? {}
      : { leftServerId: targetServerId, deleteLeftAt: new Date(now.getTime() + leftMs) }),
  });
  const running = { moveId: move.id, organizationId, state: 'running' };
  await tx.volumeSnapshot.updateMany({ where: running, data: { state: 'failed', finishedAt: now } });
  await tx.volumeRestore.updateMany({ where: running, data: { state: 'failed' } });
  const isThere = (await hasServer(ctx, move, targetServerId)) && (await hasServer(ctx, move, sourceServerId));
  if (isThere) await detachServer(ctx, { ...placeOf(move), serverId: parseId('srv', targetServerId) });
  const servers = await loadNames(ctx, [sourceServerId, targetServerId]);
  for (const serverId of [...servers.keys()].sort()) await bumpServer(ctx, serverId);
  // A cancellation has an event of its member.
  if (state === 'failed') await audit(ctx, move, 'volume_move.fail', { failureMessage });
}

async function hasServer(ctx: Ctx, move: MoveRow, serverId: string): Promise<boolean> {
  const placement = await findPlacement(ctx, placeOf(move));
  return placement?.servers.some((each) => each.serverId === serverId) ?? false;
}

async function update({ tx, organizationId }: Ctx, { id }: MoveRow, data: object): Promise<void> {
  await tx.volumeMove.updateMany({ where: { id, organizationId }, data });
}

async function audit(
  ctx: Ctx,
  { appId, environmentId, sourceServerId, targetServerId }: MoveRow,
  action: 'volume_move.end' | 'volume_move.fail',
  after: Readonly<Record<string, string | null>>,
): Promise<void> {
  const where = { id: appId, organizationId: ctx.organizationId };
  const app = await ctx.tx.app.findFirstOrThrow({ where, select: { name: true } });
  await recordAudit(ctx, {
    action,
    target: { kind: 'app', id: appId, label: app.name },
    after: { environmentId, sourceServerId, targetServerId, ...after },
  });
}
