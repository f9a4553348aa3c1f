// Procedures of roles, built-in and custom.
import {
  createRole,
  createRoleInputSchema,
  deleteRole,
  listRoles,
  roleListSchema,
  roleRefSchema,
  updateRole,
  updateRoleInputSchema,
} from '@fairlead/core/role';
import { memberProcedure, router } from '../procedures.ts';
import { isRights } from '../protection.ts';

export const roleRouter = router({
  list: memberProcedure('role.read')
    .output(roleListSchema)
    .query(({ ctx }) => listRoles(ctx.core)),

  create: memberProcedure('role.write', { input: createRoleInputSchema, fresh: true, protection: isRights })
    .output(roleRefSchema)
    .mutation(({ ctx, input }) => createRole(ctx.core, input, ctx.access.rights)),

  update: memberProcedure('role.write', { input: updateRoleInputSchema, fresh: true, protection: isRights })
    .output(roleRefSchema)
    .mutation(({ ctx, input }) => updateRole(ctx.core, input, ctx.access.rights)),

  delete: memberProcedure('role.write', { input: roleRefSchema, protection: isRights })
    .output(roleRefSchema)
    .mutation(({ ctx, input }) => deleteRole(ctx.core, input)),
});
