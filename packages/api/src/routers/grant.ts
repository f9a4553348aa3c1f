// Procedures of grants: further roles of a member, also in one project or environment.
import {
  createGrant,
  createGrantInputSchema,
  deleteGrant,
  grantListSchema,
  grantRefSchema,
  listGrants,
  listGrantsInputSchema,
} from '@fairlead/core/grant';
import { memberProcedure, router } from '../procedures.ts';
import { isRights } from '../protection.ts';
import { byGrant, byGrantScope } from '../scopes.ts';

export const grantRouter = router({
  list: memberProcedure('role.read', { input: listGrantsInputSchema })
    .output(grantListSchema)
    .query(({ ctx, input }) => listGrants(ctx.core, input)),

  create: memberProcedure('member.write', {
    input: createGrantInputSchema,
    scope: byGrantScope,
    fresh: true,
    protection: isRights,
  })
    .output(grantRefSchema)
    .mutation(({ ctx, input }) => createGrant(ctx.core, input, ctx.access.rights)),

  delete: memberProcedure('member.write', { input: grantRefSchema, scope: byGrant, protection: isRights })
    .output(grantRefSchema)
    .mutation(({ ctx, input }) => deleteGrant(ctx.core, input, ctx.access.rights)),
});
