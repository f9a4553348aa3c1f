// Stores an agent's program in an organization's artifact store. Its servers fetch it with their session token, like
// any artifact.
import { recordArtifact } from '@fairlead/core/artifact';
import { AppError, type Ctx } from '@fairlead/core/kernel';
import type { AgentOffer } from '@fairlead/core/server';
import type { ApiContext } from './context.ts';

/** Throws when what was offered has been replaced meanwhile. */
export async function storeAgent(ctx: ApiContext & { readonly core: Ctx }, offer: AgentOffer): Promise<void> {
  const { organizationId } = ctx.core;
  const { digest, sizeBytes } = offer;
  const hex = digest.slice('sha256:'.length);
  if ((await ctx.artifacts.touch({ organizationId, hex })) === null) {
    const added = await ctx.artifacts.add(organizationId, ctx.config.agentOffers.read(offer), { hex });
    if (added.kind === 'no_room') throw new AppError('artifact.no_room');
    if (added.kind === 'busy') throw new AppError('request.too_many');
    if (added.kind !== 'whole') throw new AppError('artifact.digest_wrong', { digest });
  }
  await recordArtifact(ctx.core, { digest, kind: 'agent', sizeBytes });
}
