// Schemas of saved benchmark plans, and of the document that a repository can hold.
import { appIdSchema, benchmarkPlanIdSchema, environmentIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { benchmarkPlanSchema, measurablePlanSchema } from '../benchmark/schema.ts';
import { pageInputSchema, pageSchema } from '../kernel/page.ts';
import { nameSchema } from '../kernel/text.ts';

/** Unknown fields are refused, so that a misspelt one is no silent default. */
export const planDocumentSchema = z.strictObject({
  format: z.literal('fairlead-plan-1', 'A plan of Fairlead has "format": "fairlead-plan-1".'),
  name: nameSchema.describe('Name of the plan, unique within its app.'),
  plan: measurablePlanSchema.strict(),
});
export type PlanDocument = z.infer<typeof planDocumentSchema>;

export const savedPlanSchema = z.object({
  id: benchmarkPlanIdSchema,
  appId: appIdSchema,
  appName: z.string(),
  appSlug: z.string(),
  environmentId: environmentIdSchema,
  environmentName: z.string(),
  name: z.string(),
  plan: benchmarkPlanSchema,
  /** Increased by each change; an update names the one that it read. */
  version: z.number().int(),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type SavedPlan = z.infer<typeof savedPlanSchema>;
export const savedPlanPageSchema = pageSchema(savedPlanSchema);

export const savedPlanRefSchema = z.object({ planId: benchmarkPlanIdSchema });
export type SavedPlanRef = z.infer<typeof savedPlanRefSchema>;

export const listPlansInputSchema = pageInputSchema.extend({
  appId: appIdSchema.optional(),
  environmentId: environmentIdSchema.optional(),
});
export type ListPlansInput = z.infer<typeof listPlansInputSchema>;

/** Without an environment: in the primary one. */
export const createPlanInputSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema.optional(),
  name: nameSchema,
  plan: measurablePlanSchema,
});
export type CreatePlanInput = z.infer<typeof createPlanInputSchema>;

export const uploadPlanInputSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema.optional(),
  document: planDocumentSchema,
});

export const updatePlanInputSchema = z.object({
  planId: benchmarkPlanIdSchema,
  version: z.number().int().min(1),
  name: nameSchema.optional(),
  plan: measurablePlanSchema.optional(),
});
export type UpdatePlanInput = z.infer<typeof updatePlanInputSchema>;
