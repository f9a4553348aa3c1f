// Schemas of projects in the API.
import { environmentIdSchema, projectIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { nameSchema } from '../kernel/text.ts';

export const projectSchema = z.object({
  id: projectIdSchema,
  name: z.string(),
  /** Apps that the reader may see. */
  appCount: z.number().int(),
  /** Environments that the reader may see, the oldest first. */
  environments: z.array(z.object({ id: environmentIdSchema, name: z.string(), protected: z.boolean() })),
  createdAt: z.date(),
});
export const projectListSchema = z.object({ items: z.array(projectSchema) });
export type ProjectList = z.infer<typeof projectListSchema>;

/** Contents of a project that block its deletion, and those that are deleted with it. */
export const projectDetailSchema = z.object({
  id: projectIdSchema,
  name: z.string(),
  apps: z.array(z.string()),
  /** Names of deleted apps that can still be restored. */
  deletedApps: z.array(z.string()),
  secretGroups: z.array(z.string()),
  environments: z.array(z.string()),
  /** Roles of members that apply only in the project or in one of its environments. */
  grantCount: z.number().int(),
  /** API tokens that are limited to the project or to one of its environments, and still valid. */
  tokenCount: z.number().int(),
  /** True for the organization's only project, which can't be deleted. */
  isOnly: z.boolean(),
});
export type ProjectDetail = z.infer<typeof projectDetailSchema>;

export const projectRefSchema = z.object({ projectId: projectIdSchema });
export type ProjectRef = z.infer<typeof projectRefSchema>;

export const createProjectInputSchema = z.object({ name: nameSchema });
export type CreateProjectInput = z.infer<typeof createProjectInputSchema>;

export const updateProjectInputSchema = projectRefSchema.extend({ name: nameSchema });
export type UpdateProjectInput = z.infer<typeof updateProjectInputSchema>;

export const deleteProjectInputSchema = projectRefSchema.extend({ confirmName: z.string().max(200) });
export type DeleteProjectInput = z.infer<typeof deleteProjectInputSchema>;
