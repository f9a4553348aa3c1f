// Procedures of service accounts and their tokens. A manager of members also manages them.
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
import { memberProcedure, router } from '../procedures.ts';
import { isRights } from '../protection.ts';

export const serviceAccountRouter = router({
  list: memberProcedure('token.read')
    .output(serviceAccountListSchema)
    .query(({ ctx }) => listServiceAccounts(ctx.core)),

  create: memberProcedure('member.write', { input: createServiceAccountInputSchema, fresh: true, protection: isRights })
    .output(serviceAccountRefSchema)
    .mutation(({ ctx, input }) => createServiceAccount(ctx.core, input, ctx.access.rights)),

  update: memberProcedure('member.write', { input: updateServiceAccountInputSchema, fresh: true, protection: isRights })
    .output(serviceAccountRefSchema)
    .mutation(({ ctx, input }) => updateServiceAccount(ctx.core, input, ctx.access.rights)),

  delete: memberProcedure('member.write', { input: deleteServiceAccountInputSchema, protection: isRights })
    .output(serviceAccountRefSchema)
    .mutation(({ ctx, input }) => deleteServiceAccount(ctx.core, input, ctx.access.rights)),

  createToken: memberProcedure('member.write', {
    input: createServiceTokenInputSchema,
    fresh: true,
    protection: isRights,
  })
    .output(createdTokenSchema)
    .mutation(({ ctx, input }) => createServiceToken(ctx.core, input, ctx.access.rights)),

  revokeToken: memberProcedure('member.write', { input: tokenRefSchema, protection: isRights })
    .output(tokenRefSchema)
    .mutation(({ ctx, input }) => revokeServiceToken(ctx.core, input)),
});
