// Creates the first organization of a control plane, without an owner.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';
import { insertOrganization } from '../organization/index.ts';

export interface FirstOrganization {
  readonly organizationId: OrganizationId;
  readonly slug: string;
  /** False when an earlier start made it. */
  readonly created: boolean;
}

// Two control planes that start together must not both find an empty database.
const setupLock = 4_602_117_001n;

/**
 * Creates the organization of the first start, without members: it owns the local server and the sample app until it
 * is claimed. Safe to call on every start.
 */
export async function createFirstOrganization(ctx: SystemCtx, input: { name: string }): Promise<FirstOrganization> {
  await ctx.tx.$executeRaw`SELECT pg_advisory_xact_lock(${setupLock})`;
  const existing = await ctx.tx.organization.findFirst({
    select: { id: true, slug: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (existing !== null) return { organizationId: parseId('org', existing.id), slug: existing.slug, created: false };

  const { organizationId, slug } = await insertOrganization(ctx, {
    name: input.name,
    actor: { kind: 'system', reason: 'first start' },
    ip: null,
  });
  ctx.log.info({ organizationId }, 'created the first organization');
  return { organizationId, slug, created: true };
}
