// Procedures of source credentials.
import {
  credentialListSchema,
  credentialRefSchema,
  credentialSchema,
  credentialsOfSchema,
  deleteCredential,
  listCredentials,
  rotateKey,
  rotateKeyInputSchema,
  updateCredential,
  updateCredentialInputSchema,
} from '@fairlead/core/credential';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfApp } from '../protection.ts';
import { byApp } from '../scopes.ts';

export const credentialRouter = router({
  list: memberProcedure('app.read', { input: credentialsOfSchema, scope: byApp })
    .output(credentialListSchema)
    .query(({ ctx, input }) => listCredentials(ctx.core, input)),

  rotateKey: memberProcedure('secret.write', {
    input: rotateKeyInputSchema,
    scope: byApp,
    fresh: true,
    protection: approverOfApp,
  })
    .output(credentialSchema)
    .mutation(({ ctx, input }) => rotateKey(ctx.core, input, ctx.secretKeys)),

  update: memberProcedure('secret.write', {
    input: updateCredentialInputSchema,
    scope: byApp,
    fresh: true,
    protection: approverOfApp,
  })
    .output(credentialRefSchema)
    .mutation(({ ctx, input }) => updateCredential(ctx.core, input, ctx.secretKeys)),

  delete: memberProcedure('secret.write', { input: credentialRefSchema, scope: byApp, protection: approverOfApp })
    .output(credentialRefSchema)
    .mutation(({ ctx, input }) => deleteCredential(ctx.core, input)),
});
