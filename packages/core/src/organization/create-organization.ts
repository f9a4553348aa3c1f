// Creates an organization for a signed-in person.
import { newId } from '@fairlead/contract/ids';
import { AppError, type SystemCtx } from '../kernel/index.ts';
import { insertOrganization } from './insert-organization.ts';
import { ownedMax } from './rules.ts';
import type { OrganizationIdentity } from './schema.ts';

/** Anybody with an account may make one, and owns it. Throws organization.too_many. */
export async function createOrganization(
  ctx: SystemCtx,
  input: { readonly name: string; readonly userId: string; readonly ip: string | null },
): Promise<OrganizationIdentity> {
  const { name, userId, ip } = input;
  const actor = { kind: 'member', userId, role: 'owner' } as const;
  const { organizationId, slug } = await insertOrganization(ctx, { name, actor, ip });
  // Runs under the naming lock, so that concurrent requests are counted one after another.
  const owned = await ctx.tx.member.count({ where: { userId, role: 'owner' } });
  if (owned >= ownedMax) throw new AppError('organization.too_many', { ownedMax });
  await ctx.tx.member.create({
    data: { id: newId('mem'), organizationId, userId, role: 'owner', createdAt: ctx.clock.now() },
  });
  ctx.log.info({ organizationId, userId }, 'created an organization');
  return { id: organizationId, slug };
}
