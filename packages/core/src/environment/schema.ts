// Schemas of environments in the API.
import { environmentIdSchema, projectIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { nameSchema } from '../kernel/text.ts';

export const environmentSchema = z.object({
  id: environmentIdSchema,
  name: z.string(),
  slug: z.string(),
  projectId: projectIdSchema,
  projectName: z.string(),
  /** Deployments to it wait until another member approves. */
  protected: z.boolean(),
  appCount: z.number().int(),
  /** That in which its project began, and new apps do: it stays. */
  isFirst: z.boolean(),
});
export const environmentListSchema = z.object({ items: z.array(environmentSchema) });
export type EnvironmentList = z.infer<typeof environmentListSchema>;

export const environmentRefSchema = z.object({ environmentId: environmentIdSchema });
export type EnvironmentRef = z.infer<typeof environmentRefSchema>;

export const updateEnvironmentInputSchema = environmentRefSchema.extend({ protected: z.boolean() });
export type UpdateEnvironmentInput = z.infer<typeof updateEnvironmentInputSchema>;

export const deleteEnvironmentInputSchema = environmentRefSchema.extend({ confirmName: z.string().max(200) });
export type DeleteEnvironmentInput = z.infer<typeof deleteEnvironmentInputSchema>;

/** Without a project: the organization's first. */
export const createEnvironmentInputSchema = z.object({
  projectId: projectIdSchema.optional(),
  name: nameSchema,
  protected: z.boolean().default(false),
});
export type CreateEnvironmentInput = z.infer<typeof createEnvironmentInputSchema>;
