// Owns the return of an app to an environment where its volumes wait to be deleted.
import type { OrganizationCtx } from '../kernel/index.ts';

/** Takes the word back for all that no server was told to delete yet: the settings that name them are there again. */
export async function keepVolumes(
  ctx: OrganizationCtx,
  place: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  await ctx.tx.volume.updateMany({
    where: { ...place, organizationId: ctx.organizationId, releasedAt: null, NOT: { deleteAt: null } },
    data: { deleteAt: null },
  });
}
