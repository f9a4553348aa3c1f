// Procedures of secrets. Only the response of `reveal` holds a value, and it requires a fresh sign-in.
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
import { memberProcedure, router } from '../procedures.ts';
import { approverOfApp, approverOfGroup, approverOfSecret, approverOfSecretOwner, open } from '../protection.ts';
import { byPlacement, byProject, bySecret, bySecretGroup, bySecretGroupApp, bySecretOwner } from '../scopes.ts';

export const secretRouter = router({
  list: memberProcedure('secret.read', { input: appSecretsInputSchema, scope: byPlacement })
    .output(appSecretsSchema)
    .query(({ ctx, input }) => listSecrets(ctx.core, input)),

  versions: memberProcedure('secret.read', { input: secretRefSchema, scope: bySecret })
    .output(secretHistorySchema)
    .query(({ ctx, input }) => listSecretVersions(ctx.core, input)),

  update: memberProcedure('secret.write', {
    input: updateSecretsInputSchema,
    scope: bySecretOwner,
    protection: approverOfSecretOwner,
  })
    .output(updateSecretsOutputSchema)
    .mutation(({ ctx, input }) => updateSecrets(ctx.core, input, ctx.secretKeys)),

  delete: memberProcedure('secret.write', { input: secretRefSchema, scope: bySecret, protection: approverOfSecret })
    .output(secretRefSchema)
    .mutation(({ ctx, input }) => deleteSecret(ctx.core, input)),

  restore: memberProcedure('secret.write', {
    input: secretVersionRefSchema,
    scope: bySecret,
    protection: approverOfSecret,
  })
    .output(secretVersionRefSchema)
    .mutation(({ ctx, input }) => restoreSecret(ctx.core, input, ctx.secretKeys)),

  // A mutation, so that it is audited, and no cache, prefetch or retry ever requests it.
  reveal: memberProcedure('secret.reveal', {
    input: secretVersionRefSchema,
    scope: bySecret,
    fresh: true,
    protection: open('it changes nothing'),
  })
    .output(revealedSecretSchema)
    .mutation(({ ctx, input }) => revealSecret(ctx.core, input, ctx.secretKeys)),

  listGroups: memberProcedure('secret.read', { lists: 'project' })
    .output(secretGroupListSchema)
    .query(({ ctx }) => listSecretGroups(ctx.core, ctx.access.reach('secret.read'))),

  createGroup: memberProcedure('secret.write', {
    input: createSecretGroupInputSchema,
    scope: byProject,
    protection: open('no app has a new group'),
  })
    .output(secretGroupRefSchema)
    .mutation(({ ctx, input }) => createSecretGroup(ctx.core, input)),

  deleteGroup: memberProcedure('secret.write', {
    input: secretGroupRefSchema,
    scope: bySecretGroup,
    protection: approverOfGroup,
  })
    .output(secretGroupRefSchema)
    .mutation(({ ctx, input }) => deleteSecretGroup(ctx.core, input)),

  attachGroup: memberProcedure('secret.write', {
    input: secretGroupAppSchema,
    scope: bySecretGroupApp,
    protection: approverOfApp,
  })
    .output(secretGroupAppSchema)
    .mutation(({ ctx, input }) => attachSecretGroup(ctx.core, input)),

  detachGroup: memberProcedure('secret.write', {
    input: secretGroupAppSchema,
    scope: bySecretGroupApp,
    protection: approverOfApp,
  })
    .output(secretGroupAppSchema)
    .mutation(({ ctx, input }) => detachSecretGroup(ctx.core, input)),

  rotateKey: memberProcedure('organization.write', { protection: open('every value stays what it was') })
    .output(rotatedKeySchema)
    .mutation(({ ctx }) => rotateDataKey(ctx.core, ctx.secretKeys)),
});
