// Finds who and what asks for a deployment.
// Invariant: a machine never counts as another person, or the holder of its token could approve their own request.
import { type Actor, actorUserId, type Ctx } from '../kernel/index.ts';
import type { DeploymentTrigger } from './schema.ts';

/** Returns the member, or the maker of the token. Null: the system, or a token without a recorded maker. */
export async function requesterOf(ctx: Ctx): Promise<string | null> {
  const { actor, organizationId } = ctx;
  if (actor.kind !== 'token' || actor.userId !== null) return actorUserId(actor);
  const where = { id: actor.tokenId, organizationId };
  const token = await ctx.tx.apiToken.findFirst({ where, select: { createdByUserId: true } });
  return token?.createdByUserId ?? null;
}

/** Returns the trigger of a deployment that nothing but its actor distinguishes. */
export function triggerOf(actor: Actor): DeploymentTrigger {
  if (actor.kind === 'member') return 'manual';
  return actor.kind === 'token' ? 'api' : 'system';
}
