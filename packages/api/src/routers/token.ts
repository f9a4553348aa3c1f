// Owns the procedures of a person's own API tokens.
import { requireFresh } from '@fairlead/auth';
import {
  createdTokenSchema,
  createToken,
  createTokenInputSchema,
  listTokens,
  revokeToken,
  tokenListSchema,
  tokenRefSchema,
} from '@fairlead/core/token';
import { requireSession } from '../access.ts';
import { memberProcedure, router } from '../ladder.ts';
import { isRights } from '../protection.ts';

export const tokenRouter = router({
  list: memberProcedure('token.read')
    .output(tokenListSchema)
    .query(({ ctx }) => listTokens(ctx.core, ctx.access.rights)),

  create: memberProcedure('token.write', { input: createTokenInputSchema, protection: isRights })
    .output(createdTokenSchema)
    .mutation(async ({ ctx, input }) => {
      // It outlives the session that makes it.
      requireFresh(await requireSession(ctx), ctx.clock.now());
      return createToken(ctx.core, input, ctx.access.rights);
    }),

  revoke: memberProcedure('token.write', { input: tokenRefSchema, protection: isRights })
    .output(tokenRefSchema)
    .mutation(({ ctx, input }) => revokeToken(ctx.core, input)),
});
