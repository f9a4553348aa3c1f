// Owns the procedures of what opens an app's source.
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
import { memberProcedure, router } from '../ladder.ts';
import { byApp } from '../scopes.ts';

export const credentialRouter = router({
  list: memberProcedure('app.read', { scope: byApp })
    .input(credentialsOfSchema)
    .output(credentialListSchema)
    .query(({ ctx, input }) => listCredentials(ctx.core, input)),

  rotateKey: memberProcedure('secret.write', { scope: byApp })
    .input(rotateKeyInputSchema)
    .output(credentialSchema)
    .mutation(({ ctx, input }) => rotateKey(ctx.core, input, ctx.secretKeys)),

  update: memberProcedure('secret.write', { scope: byApp })
    .input(updateCredentialInputSchema)
    .output(credentialRefSchema)
    .mutation(({ ctx, input }) => updateCredential(ctx.core, input, ctx.secretKeys)),

  delete: memberProcedure('secret.write', { scope: byApp })
    .input(credentialRefSchema)
    .output(credentialRefSchema)
    .mutation(({ ctx, input }) => deleteCredential(ctx.core, input)),
});
