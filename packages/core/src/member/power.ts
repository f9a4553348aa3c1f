// Owns who may give and take which role: nobody gives what they do not have, and nobody touches somebody who may do more.
import { AppError, actorUserId, type Ctx } from '../kernel/index.ts';
import { type Permission, permissionsOf, roleSchema } from '../role/index.ts';

/** Locks who belongs to the organization and as what: changes of it come one after another, and see each other. */
export async function lockMembership(ctx: Ctx): Promise<void> {
  await ctx.tx.$queryRaw`SELECT id FROM organization WHERE id = ${ctx.organizationId} FOR NO KEY UPDATE`;
}

/** Throws member.above_you unless the actor may do all that each of the roles may; reads what the actor is now. */
export async function requirePower(ctx: Ctx, roles: readonly string[]): Promise<void> {
  if (ctx.actor.kind === 'system') return;
  const userId = actorUserId(ctx.actor);
  if (userId === null) throw new AppError('permission.denied', { permission: 'member.write' });
  const self = await ctx.tx.member.findFirst({
    where: { organizationId: ctx.organizationId, userId },
    select: { role: true },
  });
  if (self === null) throw new AppError('organization.not_found');
  const held = new Set(await permissionsOfRole(ctx, self.role));
  for (const role of roles) {
    const wanted = await permissionsOfRole(ctx, role);
    if (!wanted.every((permission) => held.has(permission))) throw new AppError('member.above_you', { role });
  }
}

/** Throws member.role_unknown for what is no role of this organization. */
export async function permissionsOfRole(_ctx: Ctx, role: string): Promise<readonly Permission[]> {
  const known = roleSchema.safeParse(role);
  if (!known.success) throw new AppError('member.role_unknown', { role });
  return permissionsOf(known.data);
}
