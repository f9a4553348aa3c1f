// Owns how many builds may be under way at once. A build takes memory and cores that apps on the same server need.
import type { OrganizationCtx } from '../kernel/index.ts';

export const buildsPerServerMax = 2;
export const buildsPerOrganizationMax = 8;

export interface TakenSlots {
  readonly builds: number;
  readonly of: 'server' | 'organization';
}

/** Null: there is room for one more. `except` is not counted. */
export async function findTakenSlots(
  ctx: OrganizationCtx,
  { serverId, except }: { readonly serverId: string; readonly except: string },
): Promise<TakenSlots | null> {
  const where = { organizationId: ctx.organizationId, state: 'building', NOT: { id: except } };
  const onServer = await ctx.tx.deployment.count({ where: { ...where, buildServerId: serverId } });
  if (onServer >= buildsPerServerMax) return { builds: onServer, of: 'server' };
  const all = await ctx.tx.deployment.count({ where });
  return all >= buildsPerOrganizationMax ? { builds: all, of: 'organization' } : null;
}

/** Until the transaction ends nobody else of the organization takes a slot, so that two never take the last one. */
export async function lockSlots(ctx: OrganizationCtx): Promise<void> {
  await ctx.tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`builds of ${ctx.organizationId}`}, 0))`;
}
