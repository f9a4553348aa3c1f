// Schemas of saved benchmark plans, and of the document that a repository can hold.
import {
  appIdSchema,
  benchmarkPlanIdSchema,
  environmentIdSchema,
  runIdSchema,
  serverIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import {
  benchmarkPlanSchema,
  checkDistribution,
  loadServerIdsSchema,
  measurablePlanSchema,
} from '../benchmark/schema.ts';
import { pageInputSchema, pageSchema } from '../kernel/page.ts';
import { isTimeZone } from '../kernel/region.ts';
import { nameSchema } from '../kernel/text.ts';

/** Unknown fields are refused, so that a misspelt one is no silent default. */
export const planDocumentSchema = z.strictObject({
  format: z.literal('fairlead-plan-1', 'A plan of Fairlead has "format": "fairlead-plan-1".'),
  name: nameSchema.describe('Name of the plan, unique within its app and environment.'),
  plan: measurablePlanSchema.strict(),
});
export type PlanDocument = z.infer<typeof planDocumentSchema>;

export const scheduleRuleSchema = z.object({
  /** 1 (Monday) to 7; null: every day. */
  weekday: z.number().int().min(1).max(7).nullable(),
  hour: z.number().int().min(0).max(23),
  timeZone: z.string().max(64).refine(isTimeZone, 'Enter a time zone such as Europe/Berlin.'),
});

const scheduleSchema = scheduleRuleSchema.extend({
  paused: z.boolean(),
  /** Null while it is paused. */
  nextAt: z.date().nullable(),
  /** Last slot; null: none yet. A slot without a run was skipped, for the reason of its code. */
  last: z
    .object({
      at: z.date(),
      runId: runIdSchema.nullable(),
      skipCode: z.string().nullable(),
      skipMessage: z.string().nullable(),
    })
    .nullable(),
});

export const savedPlanSchema = z.object({
  id: benchmarkPlanIdSchema,
  appId: appIdSchema,
  appName: z.string(),
  appSlug: z.string(),
  environmentId: environmentIdSchema,
  environmentName: z.string(),
  name: z.string(),
  plan: benchmarkPlanSchema,
  /** Servers that send the requests; empty: the app's server. A deleted one has no name. */
  loadServers: z.array(z.object({ serverId: serverIdSchema, name: z.string().nullable() })),
  /** Grows with each change; an update names the one that it read. */
  version: z.number().int(),
  /** True: name and plan are those of fairlead.bench.json in the repository, and change with a deployment only. */
  isFromRepository: z.boolean(),
  /** Null: it runs only when a person starts it. */
  schedule: scheduleSchema.nullable(),
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
export const createPlanInputSchema = z
  .object({
    appId: appIdSchema,
    environmentId: environmentIdSchema.optional(),
    name: nameSchema,
    plan: measurablePlanSchema,
    loadServerIds: loadServerIdsSchema.optional(),
  })
  .check(checkDistribution);
export type CreatePlanInput = z.infer<typeof createPlanInputSchema>;

/** A document names no servers: it is for any organization. */
export const uploadPlanInputSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema.optional(),
  document: planDocumentSchema,
});

/** For a plan from the repository, only `loadServerIds` may be set. */
export const updatePlanInputSchema = z
  .object({
    planId: benchmarkPlanIdSchema,
    version: z.number().int().min(1),
    name: nameSchema.optional(),
    plan: measurablePlanSchema.optional(),
    loadServerIds: loadServerIdsSchema.optional(),
  })
  .check(checkDistribution);
export type UpdatePlanInput = z.infer<typeof updatePlanInputSchema>;

/** Null removes the schedule. A schedule is for the named version only, because it approves the load of the plan. */
export const updateScheduleInputSchema = z.object({
  planId: benchmarkPlanIdSchema,
  version: z.number().int().min(1),
  schedule: scheduleRuleSchema.nullable(),
});
export type UpdateScheduleInput = z.infer<typeof updateScheduleInputSchema>;

/** A resumed schedule is for the named version only, as a new one is. */
export const pauseScheduleInputSchema = z.object({
  planId: benchmarkPlanIdSchema,
  version: z.number().int().min(1),
  paused: z.boolean(),
});
export type PauseScheduleInput = z.infer<typeof pauseScheduleInputSchema>;
