// Schemas of environment variables in the API: plain ones of the settings, and secrets. A secret's value goes in and
// never comes out.
import { appIdSchema, deploymentIdSchema, environmentIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { variableNameSchema, variableScopeSchema, variablesMax, variableValueSchema } from '../config/schema.ts';
import { placementInputSchema } from '../placement/schema.ts';
import { secretItemSchema, secretNameSchema, secretsMax } from '../secret/schema.ts';

export const plainVariableSchema = z.object({
  name: z.string(),
  value: z.string(),
  scope: variableScopeSchema,
  /** Time of the version that set it. */
  updatedAt: z.date(),
  /** Member who set it; null for a service account or a former member. */
  authorName: z.string().nullable(),
  /** Difference from the live release; null if there is none, or nothing is live. */
  pending: z.enum(['added', 'changed']).nullable(),
});
export type PlainVariable = z.infer<typeof plainVariableSchema>;

export const variableListSchema = z.object({
  variables: z.array(plainVariableSchema),
  /** Names that the live release has and the settings no longer have. */
  removed: z.array(z.string()),
  /** Deployment that made the live release; a redeploy of it applies the variables. Null when nothing is live. */
  liveDeploymentId: deploymentIdSchema.nullable(),
});
export type VariableList = z.infer<typeof variableListSchema>;

const plainItemSchema = z.object({
  name: variableNameSchema,
  value: variableValueSchema,
  /** Absent: as before; `both` for a new one. */
  scope: variableScopeSchema.optional(),
});
export type PlainItem = z.infer<typeof plainItemSchema>;

const isUnique = (items: readonly { readonly name: string }[]): boolean =>
  new Set(items.map(({ name }) => name)).size === items.length;

/** A variable that becomes a secret stops being plain in the same step. Other variables stay as they are. */
export const updateVariablesInputSchema = placementInputSchema
  .extend({
    plain: z.array(plainItemSchema).max(variablesMax).default([]),
    secrets: z.array(secretItemSchema).max(secretsMax).default([]),
    /** Plain variables to delete. */
    deleted: z.array(variableNameSchema).max(variablesMax).default([]),
  })
  .refine(({ plain, secrets }) => isUnique([...plain, ...secrets]), 'A name is listed twice.');
export type UpdateVariablesInput = z.infer<typeof updateVariablesInputSchema>;

export const updatedVariablesSchema = z.object({
  added: z.array(z.string()),
  changed: z.array(z.string()),
  unchanged: z.array(z.string()),
  deleted: z.array(z.string()),
});
export type UpdatedVariables = z.infer<typeof updatedVariablesSchema>;

/** Copies variables of an app from one of its environments to another, which keeps its own other ones. */
export const copyVariablesInputSchema = z.object({
  appId: appIdSchema,
  fromEnvironmentId: environmentIdSchema,
  /** Target environment. */
  environmentId: environmentIdSchema,
  plain: z.array(variableNameSchema).max(variablesMax).default([]),
  secrets: z.array(secretNameSchema).max(secretsMax).default([]),
});
export type CopyVariablesInput = z.infer<typeof copyVariablesInputSchema>;
