// Creates a custom role.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation } from '../kernel/index.ts';
import type { Rights } from './rights.ts';
import { requireHolds } from './role-assignment.ts';
import type { CreateRoleInput, RoleRef } from './schema.ts';

/** Throws role.beyond_own for a permission that its maker lacks: who makes a role could be given it by a friend. */
export async function createRole(ctx: Ctx, input: CreateRoleInput, by: Rights): Promise<RoleRef> {
  const { organizationId } = ctx;
  const { name, permissions } = input;
  requireHolds(by, permissions);
  const roleId = newId('rol');
  try {
    await ctx.tx.customRole.create({
      data: { id: roleId, organizationId, name, permissions, createdAt: ctx.clock.now() },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('role.name_taken', { name }, { cause: error });
    throw error;
  }
  await recordAudit(ctx, {
    action: 'role.create',
    target: { kind: 'role', id: roleId, label: name },
    after: { name, permissions },
  });
  return { roleId };
}
