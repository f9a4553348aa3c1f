// Records the report of an agent that removed itself, or could not.
import { type UninstallStatus, WorkState } from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import { clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { endServer } from './end-server.ts';
import { storedUninstall, uninstallView } from './uninstall.ts';

const reasonMax = 2000;
const noReason = 'The agent did not say why it could not be removed. Its log on the server says more.';

/** Returns true if the server is deleted. Ignores an agent without such a request. */
export async function recordUninstall(
  ctx: OrganizationCtx,
  { serverId, status }: { readonly serverId: string; readonly status: UninstallStatus },
): Promise<boolean> {
  const { tx, organizationId } = ctx;
  const [row] = await tx.$queryRaw<{ name: string; uninstall: unknown }[]>`
    SELECT name, uninstall FROM server WHERE id = ${serverId} AND organization_id = ${organizationId} FOR UPDATE`;
  const before = uninstallView(row?.uninstall ?? null);
  if (row === undefined || before?.state !== 'running') return false;
  if (status.state === WorkState.SUCCEEDED) {
    const actor = { kind: 'agent', serverId: parseId('srv', serverId) } as const;
    await endServer({ ...ctx, actor }, { serverId, name: row.name });
    return true;
  }
  if (status.state === WorkState.FAILED) {
    const failureMessage = clipText(status.failure?.message ?? '', reasonMax) || noReason;
    const uninstall = storedUninstall({ ...before, state: 'failed', failureMessage });
    await tx.server.updateMany({ where: { id: serverId, organizationId }, data: { uninstall } });
    await notifyChange(ctx, { kind: 'server', id: serverId });
  }
  return false;
}
