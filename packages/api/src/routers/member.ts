// Owns the procedures of members.
import {
  deleteMember,
  deleteMemberInputSchema,
  listMembers,
  memberIdentitySchema,
  memberListSchema,
  updateMember,
  updateMemberInputSchema,
} from '@fairlead/core/member';
import { memberProcedure, router } from '../ladder.ts';

export const memberRouter = router({
  list: memberProcedure('member.read')
    .output(memberListSchema)
    .query(({ ctx }) => listMembers(ctx.core)),

  update: memberProcedure('member.write')
    .input(updateMemberInputSchema)
    .output(memberIdentitySchema)
    .mutation(({ ctx, input }) => updateMember(ctx.core, input, ctx.access.rights)),

  delete: memberProcedure('member.write')
    .input(deleteMemberInputSchema)
    .output(memberIdentitySchema)
    .mutation(({ ctx, input }) => deleteMember(ctx.core, input, ctx.access.rights)),
});
