// Owns the procedures of members.
import { listMembers, memberListSchema } from '@fairlead/core/member';
import { memberProcedure, router } from '../ladder.ts';

export const memberRouter = router({
  list: memberProcedure('member.read')
    .output(memberListSchema)
    .query(({ ctx }) => listMembers(ctx.core)),
});
