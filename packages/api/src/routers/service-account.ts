// Owns the procedures of service accounts and their tokens. They are members of a kind: who manages members manages them.
import {
  createServiceAccount,
  createServiceAccountInputSchema,
  createServiceToken,
  createServiceTokenInputSchema,
  deleteServiceAccount,
  deleteServiceAccountInputSchema,
  listServiceAccounts,
  revokeServiceToken,
  serviceAccountListSchema,
  serviceAccountRefSchema,
  updateServiceAccount,
  updateServiceAccountInputSchema,
} from '@fairlead/core/service-account';
import { createdTokenSchema, tokenRefSchema } from '@fairlead/core/token';
import { memberProcedure, router } from '../ladder.ts';

export const serviceAccountRouter = router({
  list: memberProcedure('token.read')
    .output(serviceAccountListSchema)
    .query(({ ctx }) => listServiceAccounts(ctx.core)),

  create: memberProcedure('member.write', { fresh: true })
    .input(createServiceAccountInputSchema)
    .output(serviceAccountRefSchema)
    .mutation(({ ctx, input }) => createServiceAccount(ctx.core, input, ctx.access.rights)),

  update: memberProcedure('member.write', { fresh: true })
    .input(updateServiceAccountInputSchema)
    .output(serviceAccountRefSchema)
    .mutation(({ ctx, input }) => updateServiceAccount(ctx.core, input, ctx.access.rights)),

  delete: memberProcedure('member.write')
    .input(deleteServiceAccountInputSchema)
    .output(serviceAccountRefSchema)
    .mutation(({ ctx, input }) => deleteServiceAccount(ctx.core, input, ctx.access.rights)),

  createToken: memberProcedure('member.write', { fresh: true })
    .input(createServiceTokenInputSchema)
    .output(createdTokenSchema)
    .mutation(({ ctx, input }) => createServiceToken(ctx.core, input, ctx.access.rights)),

  revokeToken: memberProcedure('member.write')
    .input(tokenRefSchema)
    .output(tokenRefSchema)
    .mutation(({ ctx, input }) => revokeServiceToken(ctx.core, input)),
});
