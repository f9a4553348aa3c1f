// Owns the procedures of secrets. One answer holds a value, that of `reveal`, and it asks for a fresh sign-in.
import {
  appSecretsInputSchema,
  appSecretsSchema,
  attachSecretGroup,
  createSecretGroup,
  createSecretGroupInputSchema,
  deleteSecret,
  deleteSecretGroup,
  detachSecretGroup,
  listSecretGroups,
  listSecrets,
  listSecretVersions,
  restoreSecret,
  revealedSecretSchema,
  revealSecret,
  rotateDataKey,
  rotatedKeySchema,
  secretGroupAppSchema,
  secretGroupListSchema,
  secretGroupRefSchema,
  secretHistorySchema,
  secretRefSchema,
  secretVersionRefSchema,
  updateSecrets,
  updateSecretsInputSchema,
  updateSecretsOutputSchema,
} from '@fairlead/core/secret';
import { memberProcedure, router } from '../ladder.ts';
import { byPlacement, byProject, bySecret, bySecretGroup, bySecretOwner } from '../scopes.ts';

export const secretRouter = router({
  list: memberProcedure('secret.read', { scope: byPlacement })
    .input(appSecretsInputSchema)
    .output(appSecretsSchema)
    .query(({ ctx, input }) => listSecrets(ctx.core, input)),

  versions: memberProcedure('secret.read', { scope: bySecret })
    .input(secretRefSchema)
    .output(secretHistorySchema)
    .query(({ ctx, input }) => listSecretVersions(ctx.core, input)),

  update: memberProcedure('secret.write', { scope: bySecretOwner })
    .input(updateSecretsInputSchema)
    .output(updateSecretsOutputSchema)
    .mutation(({ ctx, input }) => updateSecrets(ctx.core, input, ctx.secretKeys)),

  delete: memberProcedure('secret.write', { scope: bySecret })
    .input(secretRefSchema)
    .output(secretRefSchema)
    .mutation(({ ctx, input }) => deleteSecret(ctx.core, input)),

  restore: memberProcedure('secret.write', { scope: bySecret })
    .input(secretVersionRefSchema)
    .output(secretVersionRefSchema)
    .mutation(({ ctx, input }) => restoreSecret(ctx.core, input, ctx.secretKeys)),

  // A mutation: it is written down, and no cache, prefetch or retry may ever ask for it.
  reveal: memberProcedure('secret.reveal', { scope: bySecret, fresh: true })
    .input(secretVersionRefSchema)
    .output(revealedSecretSchema)
    .mutation(({ ctx, input }) => revealSecret(ctx.core, input, ctx.secretKeys)),

  listGroups: memberProcedure('secret.read', { lists: 'project' })
    .output(secretGroupListSchema)
    .query(({ ctx }) => listSecretGroups(ctx.core, ctx.access.reach('secret.read'))),

  createGroup: memberProcedure('secret.write', { scope: byProject })
    .input(createSecretGroupInputSchema)
    .output(secretGroupRefSchema)
    .mutation(({ ctx, input }) => createSecretGroup(ctx.core, input)),

  deleteGroup: memberProcedure('secret.write', { scope: bySecretGroup })
    .input(secretGroupRefSchema)
    .output(secretGroupRefSchema)
    .mutation(({ ctx, input }) => deleteSecretGroup(ctx.core, input)),

  attachGroup: memberProcedure('secret.write', { scope: bySecretGroup })
    .input(secretGroupAppSchema)
    .output(secretGroupAppSchema)
    .mutation(({ ctx, input }) => attachSecretGroup(ctx.core, input)),

  detachGroup: memberProcedure('secret.write', { scope: bySecretGroup })
    .input(secretGroupAppSchema)
    .output(secretGroupAppSchema)
    .mutation(({ ctx, input }) => detachSecretGroup(ctx.core, input)),

  rotateKey: memberProcedure('organization.write')
    .output(rotatedKeySchema)
    .mutation(({ ctx }) => rotateDataKey(ctx.core, ctx.secretKeys)),
});
