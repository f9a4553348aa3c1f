// Starts a new epoch. After a restore, agents may have applied versions ahead of ours, and an agent refuses older
// ones. A greater epoch is newer than every version before it, whatever its number.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { forOrganization, type SystemCtx } from '../kernel/index.ts';

export interface NewEpochInput {
  readonly backupMadeAt: Date;
  /** False if this machine is not the one with the local agent: that server is a remote one from now on. */
  readonly hasLocalAgent: boolean;
}

/** For a restored control plane, before it serves. Answers how many servers will take its state as new. */
export async function startNewEpoch(ctx: SystemCtx, input: NewEpochInput): Promise<number> {
  const { count } = await ctx.tx.server.updateMany({
    data: { desiredEpoch: { increment: 1 }, desiredNumber: 1n, connectedGateway: null },
  });
  if (!input.hasLocalAgent) await ctx.tx.server.updateMany({ where: { isLocal: true }, data: { isLocal: false } });
  const organizations = await ctx.tx.organization.findMany({
    select: { id: true, name: true },
    orderBy: { id: 'asc' },
  });
  for (const { id, name } of organizations) {
    const actor = { kind: 'system', reason: 'restore from a backup' } as const;
    await recordAudit(
      { ...forOrganization(ctx, parseId('org', id)), actor },
      {
        action: 'organization.restore_backup',
        target: { kind: 'organization', id, label: name },
        after: { backupMadeAt: input.backupMadeAt.toISOString() },
      },
    );
  }
  ctx.log.info({ servers: count }, 'a restored control plane started a new epoch');
  return count;
}
