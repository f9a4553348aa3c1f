// Finds the person behind a deployment request: the member, or the maker of the token.
// Invariant: a machine never counts as another person, or the holder of its token could approve their own request.
import { Prisma } from '@fairlead/db';
import { actorUserId, type Ctx } from '../kernel/index.ts';

/** Null: the system, or a token without a recorded maker. */
export async function requesterOf(ctx: Ctx): Promise<string | null> {
  const { actor, organizationId } = ctx;
  if (actor.kind !== 'token' || actor.userId !== null) return actorUserId(actor);
  const where = { id: actor.tokenId, organizationId };
  const token = await ctx.tx.apiToken.findFirst({ where, select: { createdByUserId: true } });
  return token?.createdByUserId ?? null;
}

/** Finds requesters of older deployments by machines, by deployment id: the audit log has the token. */
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
  // The oldest event of a deployment is the request itself, and comes last.
  return new Map(rows.map(({ deploymentId, userId }) => [deploymentId, userId]));
}
