// Procedures of members.
import {
  deleteMember,
  deleteMemberInputSchema,
  listMembers,
  memberIdentitySchema,
  memberListSchema,
  updateMember,
  updateMemberInputSchema,
} from '@fairlead/core/member';
import { listMemberTokens, memberTokenListSchema, revokeMemberToken, tokenRefSchema } from '@fairlead/core/token';
import { memberProcedure, router } from '../procedures.ts';
import { isRights } from '../protection.ts';

export const memberRouter = router({
  list: memberProcedure('member.read')
    .output(memberListSchema)
    .query(({ ctx }) => listMembers(ctx.core)),

  update: memberProcedure('member.write', { input: updateMemberInputSchema, fresh: true, protection: isRights })
    .output(memberIdentitySchema)
    .mutation(({ ctx, input }) => updateMember(ctx.core, input, ctx.access.rights)),

  delete: memberProcedure('member.write', { input: deleteMemberInputSchema, protection: isRights })
    .output(memberIdentitySchema)
    .mutation(({ ctx, input }) => deleteMember(ctx.core, input, ctx.access.rights)),

  /** Everybody's own API tokens that reach this organization. */
  listTokens: memberProcedure('member.write')
    .output(memberTokenListSchema)
    .query(({ ctx }) => listMemberTokens(ctx.core)),

  revokeToken: memberProcedure('member.write', { input: tokenRefSchema, protection: isRights })
    .output(tokenRefSchema)
    .mutation(({ ctx, input }) => revokeMemberToken(ctx.core, input)),
});
