// Finds the dashboard's domains that should answer, and records the first answer of one: links then lead there.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { findServedLeaf } from '../certificate/index.ts';
import type { HostState } from '../host/index.ts';
import { forOrganization, type SystemCtx } from '../kernel/index.ts';
import { notifyAddresses } from './store.ts';

/** States in which visitors reach the local server. */
const leadsHere: readonly HostState[] = ['ready', 'partial'];

export interface ExpectedAnswer {
  readonly organizationId: OrganizationId;
  readonly host: string;
  /** Certificate that the local server should serve, DER. */
  readonly leaf: Uint8Array;
}

/** Returns domains without an answer yet, if their records lead here and their certificate is valid. */
export async function listExpectedAnswers(ctx: SystemCtx): Promise<readonly ExpectedAnswer[]> {
  const rows = await ctx.tx.$queryRaw<{ organizationId: string; host: string }[]>`
    SELECT own.organization_id AS "organizationId", own.host
    FROM dashboard_domain AS own JOIN domain_host USING (organization_id, host)
    WHERE own.answered_at IS NULL AND domain_host.state = ANY(${leadsHere}) ORDER BY own.host`;
  const expected: ExpectedAnswer[] = [];
  for (const { organizationId: id, host } of rows) {
    const organizationId = parseId('org', id);
    const leaf = await findServedLeaf(forOrganization(ctx, organizationId), host);
    if (leaf !== null) expected.push({ organizationId, host, leaf });
  }
  return expected;
}

export async function recordAnswer(
  system: SystemCtx,
  { organizationId, host }: Pick<ExpectedAnswer, 'organizationId' | 'host'>,
): Promise<void> {
  const ctx = forOrganization(system, organizationId);
  const [row] = await ctx.tx.dashboardDomain.updateManyAndReturn({
    where: { organizationId, host, answeredAt: null },
    data: { answeredAt: ctx.clock.now() },
    select: { id: true },
  });
  if (row === undefined) return;
  const actor = { kind: 'system', reason: 'first answer' } as const;
  await recordAudit(
    { ...ctx, actor },
    { action: 'control_plane.complete_domain', target: { kind: 'dashboard_domain', id: row.id, label: host } },
  );
  await notifyAddresses(ctx);
}
