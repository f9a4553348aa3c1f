// Records an agent's report about its own program: the running one, and the progress of an upgrade.
import { type AgentStatus, WorkState } from '@fairlead/contract/agent';
import { errorTable, isErrorCode } from '@fairlead/contract/errors';
import { clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { bumpServer } from './bump-server.ts';
import { storedUpgradeSchema, upgradeStepSchema } from './schema.ts';

const digestPattern = /^sha256:[0-9a-f]{64}$/;

/** Ignores a status of a request that has ended or is not the last one. */
export async function recordAgent(
  ctx: OrganizationCtx,
  { serverId, status }: { readonly serverId: string; readonly status: AgentStatus },
): Promise<void> {
  const { tx, organizationId } = ctx;
  const told = digestPattern.test(status.digest) ? status.digest : null;
  const mine = { id: serverId, organizationId };
  // Most reports change neither; they must not wait for each other's lock.
  const known = await tx.server.findFirst({ where: mine, select: { agentDigest: true, upgrade: true } });
  if (known === null) return;
  const isOther = told !== known.agentDigest;
  if (isOther) await tx.server.updateMany({ where: mine, data: { agentDigest: told } });
  const moved = status.upgrade !== undefined && known.upgrade !== null && (await recordUpgrade(ctx, serverId, status));
  if (isOther || moved) await notifyChange(ctx, { kind: 'server', id: serverId });
}

async function recordUpgrade(ctx: OrganizationCtx, serverId: string, { upgrade }: AgentStatus): Promise<boolean> {
  if (upgrade === undefined) return false;
  const { tx, organizationId } = ctx;
  const [row] = await tx.$queryRaw<{ upgrade: unknown }[]>`
    SELECT upgrade FROM server WHERE id = ${serverId} AND organization_id = ${organizationId} FOR UPDATE`;
  const before = storedUpgradeSchema.nullable().parse(row?.upgrade ?? null);
  if (before === null || before.attempt !== upgrade.attempt) return false;
  // It had begun, and was only silent for long.
  const isFound = before.failureCode === 'upgrade.lost' && upgrade.state === WorkState.SUCCEEDED;
  if (before.state !== 'running' && !isFound) return false;
  const isEnd = upgrade.state === WorkState.SUCCEEDED || upgrade.state === WorkState.FAILED;
  const step = upgradeStepSchema.safeParse(upgrade.step).data ?? before.step;
  if (!isEnd && step === before.step) return false;
  const hasFailed = upgrade.state === WorkState.FAILED;
  const code = upgrade.failure?.code ?? '';
  const own = isErrorCode(code) ? errorTable[code].message : errorTable['upgrade.lost'].message;
  const after = {
    ...before,
    requestedAt: before.requestedAt.toISOString(),
    state: hasFailed ? 'failed' : isEnd ? 'succeeded' : 'running',
    step,
    failureCode: hasFailed ? clipText(code, 100) : null,
    failureMessage: hasFailed ? clipText(upgrade.failure?.message ?? '', 1000) || own : null,
    finishedAt: isEnd ? ctx.clock.now().toISOString() : null,
  };
  await tx.server.updateMany({ where: { id: serverId, organizationId }, data: { upgrade: after } });
  // An ended request is not part of the desired state any more.
  if (isEnd) await bumpServer(ctx, serverId);
  return true;
}
