// Ends lost upgrades, so that an upgrade that is shown as lost never happens hours later. System scope.
import { parseId } from '@fairlead/contract/ids';
import { forOrganization, notifyChange, type SystemCtx } from '../kernel/index.ts';
import { bumpServer } from './bump-server.ts';
import { storedUpgradeSchema } from './schema.ts';
import { lostBefore, upgradeView } from './upgrade.ts';

/** Returns the number of ended upgrades. Their servers get a new state without the request. */
export async function endLostUpgrades(ctx: SystemCtx): Promise<number> {
  const now = ctx.clock.now();
  const rows = await ctx.tx.$queryRaw<{ id: string; organizationId: string; upgrade: unknown }[]>`
    SELECT id, organization_id AS "organizationId", upgrade FROM server
    WHERE upgrade->>'state' = 'running' AND (upgrade->>'requestedAt')::timestamptz < ${lostBefore(now)}
    ORDER BY id FOR UPDATE`;
  for (const { id, organizationId, upgrade } of rows) {
    const scoped = forOrganization(ctx, parseId('org', organizationId));
    const { requestedAt } = storedUpgradeSchema.parse(upgrade);
    const lost = {
      ...upgradeView(upgrade, now),
      requestedAt: requestedAt.toISOString(),
      finishedAt: now.toISOString(),
    };
    await ctx.tx.server.updateMany({ where: { id, organizationId }, data: { upgrade: lost } });
    await bumpServer(scoped, id);
    await notifyChange(scoped, { kind: 'server', id });
  }
  return rows.length;
}
