// Schemas of secrets in the API. A value goes in and comes out of one response only, that of a reveal.
import {
  appIdSchema,
  environmentIdSchema,
  projectIdSchema,
  secretGroupIdSchema,
  secretIdSchema,
  secretSnapshotIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { slugSchema } from '../kernel/text.ts';
import { nameProblem, secretsMax, valueProblem } from './rules.ts';

export { secretsMax };

export const deliverySchema = z.enum(['environment', 'file']);
export type Delivery = z.infer<typeof deliverySchema>;

export const secretNameSchema = z.string().superRefine((name, check) => {
  const message = nameProblem(name);
  if (message !== null) check.addIssue({ code: 'custom', message });
});

const valueSchema = z.string().superRefine((value, check) => {
  const message = valueProblem(value);
  if (message !== null) check.addIssue({ code: 'custom', message });
});

/** Why the secrets of an app do not reach its server at the moment. */
export const secretsProblemSchema = z.enum(['undecryptable', 'no_room']);
export type SecretsProblem = z.infer<typeof secretsProblemSchema>;

/** An app in one of its environments, by default the primary one; or a group. */
export const secretOwnerSchema = z.union([
  z.object({ appId: appIdSchema, environmentId: environmentIdSchema.optional() }).strict(),
  z.object({ groupId: secretGroupIdSchema }).strict(),
]);
export type SecretOwner = z.infer<typeof secretOwnerSchema>;

/** Change of one secret. Absent fields stay as they are; a new secret needs a value. */
export const secretItemSchema = z.object({
  name: secretNameSchema,
  value: valueSchema.optional(),
  delivery: deliverySchema.optional(),
  /** True: this value is never shown again. Default for a new secret. */
  sealed: z.boolean().optional(),
  /** True: builds get it too. Default for a new secret: running instances only. */
  atBuild: z.boolean().optional(),
  expiresAt: z.date().nullable().optional(),
});
export type SecretItem = z.infer<typeof secretItemSchema>;

export const secretItemsSchema = z
  .array(secretItemSchema)
  .min(1)
  .max(secretsMax)
  .refine((items) => new Set(items.map(({ name }) => name)).size === items.length, 'A name is listed twice.');

export const updateSecretsInputSchema = z.object({ owner: secretOwnerSchema, items: secretItemsSchema });
export type UpdateSecretsInput = z.infer<typeof updateSecretsInputSchema>;

export const updateSecretsOutputSchema = z.object({
  added: z.array(z.string()),
  changed: z.array(z.string()),
  unchanged: z.array(z.string()),
});
export type UpdatedSecrets = z.infer<typeof updateSecretsOutputSchema>;

export const secretRefSchema = z.object({ secretId: secretIdSchema });
export type SecretRef = z.infer<typeof secretRefSchema>;

export const secretVersionRefSchema = secretRefSchema.extend({ number: z.number().int().min(1) });
export type SecretVersionRef = z.infer<typeof secretVersionRefSchema>;

export const secretSchema = z.object({
  id: secretIdSchema,
  name: z.string(),
  number: z.number().int(),
  delivery: deliverySchema,
  sealed: z.boolean(),
  atBuild: z.boolean(),
  references: z.array(z.string()),
  expiresAt: z.date().nullable(),
  updatedAt: z.date(),
  /** The member who wrote the value; null for a service account or a former member. */
  authorName: z.string().nullable(),
});
export type SecretView = z.infer<typeof secretSchema>;

export const secretGroupSchema = z.object({
  id: secretGroupIdSchema,
  name: z.string(),
  projectId: projectIdSchema,
  projectName: z.string(),
  secrets: z.array(secretSchema),
  apps: z.array(z.object({ id: appIdSchema, name: z.string(), slug: z.string() })),
});
export type SecretGroupView = z.infer<typeof secretGroupSchema>;
export const secretGroupListSchema = z.array(secretGroupSchema);

const changeSchema = z.object({ name: z.string(), kind: z.enum(['added', 'changed', 'removed']) });
export type SecretChange = z.infer<typeof changeSchema>;

export const appSecretsInputSchema = z.object({ appId: appIdSchema, environmentId: environmentIdSchema.optional() });
export type AppSecretsInput = z.infer<typeof appSecretsInputSchema>;

export const appSecretsSchema = z.object({
  secrets: z.array(secretSchema),
  /** Attached groups first. */
  groups: z.array(
    z.object({
      id: secretGroupIdSchema,
      name: z.string(),
      attached: z.boolean(),
      secrets: z.array(secretSchema),
    }),
  ),
  /** Differences from the live release, keyed by name; null when nothing is live. */
  changes: z.array(changeSchema).nullable(),
  /** Why nothing could be deployed now, in sentences. */
  problems: z.array(z.string()),
  /** Names in the repository's .env.example, as the newest build found it. */
  expectedVariables: z.array(z.string()),
  missingNames: z.array(z.string()),
  liveSnapshotId: secretSnapshotIdSchema.nullable(),
});
export type AppSecrets = z.infer<typeof appSecretsSchema>;

export const secretVersionSchema = z.object({
  number: z.number().int(),
  delivery: deliverySchema,
  sealed: z.boolean(),
  atBuild: z.boolean(),
  references: z.array(z.string()),
  authorName: z.string().nullable(),
  createdAt: z.date(),
  isCurrent: z.boolean(),
  /** The live release runs with it. */
  isLive: z.boolean(),
});
export const secretHistorySchema = z.object({ name: z.string(), versions: z.array(secretVersionSchema) });
export type SecretHistory = z.infer<typeof secretHistorySchema>;

export const revealedSecretSchema = z.object({ name: z.string(), number: z.number().int(), value: z.string() });
export type RevealedSecret = z.infer<typeof revealedSecretSchema>;

export const rotatedKeySchema = z.object({ keyId: z.string() });

export const createSecretGroupInputSchema = z.object({
  name: slugSchema,
  /** Without it: the organization's first project. */
  projectId: projectIdSchema.optional(),
});
export type CreateSecretGroupInput = z.infer<typeof createSecretGroupInputSchema>;

export const secretGroupRefSchema = z.object({ groupId: secretGroupIdSchema });
export type SecretGroupRef = z.infer<typeof secretGroupRefSchema>;

export const secretGroupAppSchema = secretGroupRefSchema.extend({ appId: appIdSchema });
export type SecretGroupAppInput = z.infer<typeof secretGroupAppSchema>;
