// Takes the next step of an agent rollout. Safe to run twice and in two workers: the step is decided and recorded under
// the rollout's lock.
import { parseId } from '@fairlead/contract/ids';
import { type AuditEntry, recordAudit } from '../audit/index.ts';
import { type Ctx, notifyChange, type SystemCtx } from '../kernel/index.ts';
import { type AgentOffer, upgradeServer } from '../server/index.ts';
import { type RolloutServer, type RolloutStep, step } from './machine.ts';
import type { AgentRolloutRef } from './schema.ts';
import { loadRolloutServers, lockRollout, parseOffers } from './store.ts';

/** Returns the running rollouts of all organizations. */
export async function listRunningRollouts({ tx }: SystemCtx) {
  const rows = await tx.agentRollout.findMany({
    where: { state: 'running' },
    orderBy: { id: 'asc' },
    select: { id: true, organizationId: true },
  });
  return rows.map(({ id, organizationId }) => ({
    rolloutId: parseId('aro', id),
    organizationId: parseId('org', organizationId),
  }));
}

/** Returns the kind of step that it took; null if the rollout does not run any more. */
export async function advanceAgentRollout(
  ctx: Ctx,
  { rolloutId }: AgentRolloutRef,
): Promise<RolloutStep['kind'] | null> {
  const { tx, organizationId } = ctx;
  const rollout = await lockRollout(ctx, { rolloutId });
  if (rollout?.state !== 'running') return null;
  // Their reports wait, so that `upgradeServer` finds what the step was decided on.
  await tx.$queryRaw`
    SELECT 1 FROM server
    WHERE organization_id = ${organizationId}
      AND id IN (SELECT server_id FROM agent_rollout_server WHERE rollout_id = ${rolloutId})
    ORDER BY id FOR NO KEY UPDATE`;
  const offers = parseOffers(rollout.offers);
  const next = step(rollout, await loadRolloutServers(ctx, offers, rolloutId), ctx.clock.now());
  if (next.kind === 'wait') return next.kind;
  const own = { rolloutId, offers };
  if (next.kind === 'stop') await stop(ctx, own, next);
  if (next.kind === 'succeed' || next.kind === 'skip') await end(ctx, own, next);
  if (next.kind === 'upgrade') await startWave(ctx, own, next);
  await notifyChange(ctx, { kind: 'agent_rollout', id: rolloutId });
  ctx.log.info({ rolloutId, step: next.kind }, 'advanced an agent rollout');
  return next.kind;
}

interface OwnRollout extends AgentRolloutRef {
  readonly offers: readonly AgentOffer[];
}
type StepOf<Kind extends RolloutStep['kind']> = Extract<RolloutStep, { readonly kind: Kind }>;
type EndStep = Extract<RolloutStep, { readonly kind: 'succeed' | 'skip' }>;

async function stop(ctx: Ctx, rollout: OwnRollout, { server, reason }: StepOf<'stop'>): Promise<void> {
  await updateRollout(ctx, rollout, { state: 'stopped', failedServerId: server.id, reason });
  await recordAudit(ctx, {
    action: 'agent_rollout.fail',
    target: targetOf(rollout),
    after: { server: server.name, reason },
  });
}

async function end(ctx: Ctx, rollout: OwnRollout, { kind, leftOut }: EndStep): Promise<void> {
  await leaveOut(ctx, rollout, leftOut);
  const state = kind === 'skip' ? 'skipped' : 'succeeded';
  await updateRollout(ctx, rollout, { state, finishedAt: ctx.clock.now() });
  await recordAudit(ctx, {
    action: 'agent_rollout.end',
    target: targetOf(rollout),
    after: { state, leftOut: leftOut.map(({ name }) => name) },
  });
}

async function startWave(ctx: Ctx, rollout: OwnRollout, next: StepOf<'upgrade'>): Promise<void> {
  const { wave, servers } = next;
  await leaveOut(ctx, rollout, next.leftOut);
  for (const { id, upgrade } of servers) {
    const serverId = parseId('srv', id);
    // An upgrade that a member requested ends first; the rollout requests its own in a later step if that is needed.
    const attempt =
      upgrade?.state === 'running' ? null : (await upgradeServer(ctx, { serverId }, rollout.offers)).attempt;
    await updateServer(ctx, rollout, id, { wave, attempt });
  }
  await updateRollout(ctx, rollout, { wave, waveStartedAt: ctx.clock.now() });
  await recordAudit(ctx, {
    action: 'agent_rollout.advance',
    target: targetOf(rollout),
    after: { wave, servers: servers.map(({ name }) => name) },
  });
}

async function leaveOut(ctx: Ctx, rollout: OwnRollout, servers: readonly RolloutServer[]): Promise<void> {
  for (const { id, obstacle } of servers) await updateServer(ctx, rollout, id, { leftOut: obstacle });
}

async function updateRollout({ tx, organizationId }: Ctx, { rolloutId }: OwnRollout, data: object): Promise<void> {
  await tx.agentRollout.updateMany({ where: { id: rolloutId, organizationId }, data });
}

async function updateServer(
  { tx, organizationId }: Ctx,
  { rolloutId }: OwnRollout,
  serverId: string,
  data: object,
): Promise<void> {
  await tx.agentRolloutServer.updateMany({ where: { rolloutId, organizationId, serverId }, data });
}

function targetOf({ rolloutId, offers }: OwnRollout): AuditEntry['target'] {
  return { kind: 'agent_rollout', id: rolloutId, label: offers[0]?.version ?? '' };
}
