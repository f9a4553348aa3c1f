// Owns which person stands behind a wish to deploy: themselves, or whoever made the token that asked. Must never take a
// machine for somebody else: what it asks for could then be approved by the one who holds its token.
import { Prisma } from '@fairlead/db';
import { actorUserId, type Ctx } from '../kernel/index.ts';

/** Null: the system, or a token whose maker was not written down. */
export async function requesterOf(ctx: Ctx): Promise<string | null> {
  const { actor, organizationId } = ctx;
  if (actor.kind !== 'token' || actor.userId !== null) return actorUserId(actor);
  const where = { id: actor.tokenId, organizationId };
  const token = await ctx.tx.apiToken.findFirst({ where, select: { createdByUserId: true } });
  return token?.createdByUserId ?? null;
}

/** The same of deployments that machines asked for before, by their id: the audit log knows by which token. */
export async function requestersOf(ctx: Ctx, deploymentIds: readonly string[]): Promise<Map<string, string>> {
  if (deploymentIds.length === 0) return new Map();
  const rows = await ctx.tx.$queryRaw<{ deploymentId: string; userId: string }[]>`
    SELECT event.target_id AS "deploymentId", token.created_by_user_id AS "userId"
    FROM audit_event AS event
    JOIN api_token AS token ON token.id = event.actor_id AND token.organization_id = event.organization_id
    WHERE event.organization_id = ${ctx.organizationId} AND event.actor_kind = 'token'
      AND event.target_kind = 'deployment' AND event.target_id IN (${Prisma.join([...deploymentIds])})
      AND event.action NOT IN ('deployment.cancel') AND token.created_by_user_id IS NOT NULL
    ORDER BY event.at DESC`;
  // The oldest event of a deployment is the wish itself, and comes last.
  return new Map(rows.map(({ deploymentId, userId }) => [deploymentId, userId]));
}
