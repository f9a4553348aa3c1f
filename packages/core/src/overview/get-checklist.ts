// Returns the first-run checklist, ticked from what the organization has.
import { actorUserId, type Ctx } from '../kernel/index.ts';
import { checklistOf } from './rules.ts';
import type { Checklist } from './schema.ts';

/** Steps that the reader may take. */
export interface ChecklistRights {
  readonly deploy: boolean;
  readonly domain: boolean;
  readonly invite: boolean;
  readonly server: boolean;
  /** Facts of the control plane for its operators; null for everyone else. */
  readonly operator: { readonly hasBackups: boolean; readonly hasMail: boolean } | null;
}

interface Row {
  readonly closed: boolean;
  readonly deployed: boolean;
  readonly hasDomain: boolean;
  readonly invited: boolean;
  readonly hasServers: boolean;
}

/** The sample app of the first start and its local name are no step: the system made them. */
export async function getChecklist(ctx: Ctx, rights: ChecklistRights): Promise<Checklist | null> {
  const { organizationId } = ctx;
  const userId = actorUserId(ctx.actor);
  if (userId === null) return null;
  const [row] = await ctx.tx.$queryRaw<Row[]>`
    SELECT
      EXISTS (SELECT 1 FROM acknowledgement JOIN member ON member.id = acknowledgement.member_id
              WHERE acknowledgement.organization_id = ${organizationId} AND acknowledgement.kind = 'checklist'
                AND member.user_id = ${userId}) AS "closed",
      EXISTS (SELECT 1 FROM deployment
              WHERE organization_id = ${organizationId} AND state = 'live' AND trigger <> 'system') AS "deployed",
      EXISTS (SELECT 1 FROM domain
              WHERE organization_id = ${organizationId} AND NOT automatic
                AND host <> 'localhost' AND host NOT LIKE '%.localhost') AS "hasDomain",
      EXISTS (SELECT 1 FROM invitation WHERE organization_id = ${organizationId} AND revoked_at IS NULL)
        OR (SELECT count(*) FROM member WHERE organization_id = ${organizationId}) > 1 AS "invited",
      (SELECT count(*) FROM server WHERE organization_id = ${organizationId} AND last_seen_at IS NOT NULL) > 1 AS "hasServers"`;
  if (row === undefined || row.closed) return null;
  return checklistOf({
    ...(rights.deploy ? { deploy: row.deployed } : {}),
    ...(rights.domain ? { domain: row.hasDomain } : {}),
    ...(rights.invite ? { invite: row.invited } : {}),
    ...(rights.server ? { server: row.hasServers } : {}),
    ...(rights.operator === null ? {} : { backups: rights.operator.hasBackups, mail: rights.operator.hasMail }),
  });
}
