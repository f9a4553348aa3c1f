// Procedures of a person's own API tokens.
import {
  createdTokenSchema,
  createToken,
  createTokenInputSchema,
  listTokens,
  revokeToken,
  tokenListSchema,
  tokenRefSchema,
} from '@fairlead/core/token';
import { memberProcedure, router } from '../procedures.ts';
import { isRights } from '../protection.ts';

export const tokenRouter = router({
  list: memberProcedure('token.read')
    .output(tokenListSchema)
    .query(({ ctx }) => listTokens(ctx.core, ctx.access.rights)),

  create: memberProcedure('token.write', { input: createTokenInputSchema, fresh: true, protection: isRights })
    .output(createdTokenSchema)
    .mutation(({ ctx, input }) => createToken(ctx.core, input, ctx.access.rights)),

  revoke: memberProcedure('token.write', { input: tokenRefSchema, protection: isRights })
    .output(tokenRefSchema)
    .mutation(({ ctx, input }) => revokeToken(ctx.core, input)),
});
