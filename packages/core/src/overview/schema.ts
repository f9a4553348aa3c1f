// Schemas of the overview page: what needs attention, totals of the organization, and the latest of everything.

import { projectIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { appSummarySchema } from '../app/schema.ts';
import { attentionSchema } from '../attention/schema.ts';
import { deploymentSummarySchema } from '../deployment/schema.ts';
import { serverSummarySchema } from '../server/schema.ts';

/** Default: all projects. Servers belong to the organization and are always shown. */
export const getOverviewInputSchema = z.object({ projectId: projectIdSchema.optional() });
export type GetOverviewInput = z.infer<typeof getOverviewInputSchema>;

export const overviewAppSchema = appSummarySchema.extend({
  /** Requests of the last 30 minutes; null without one. */
  requests: z.number().nullable(),
  /** Share of them that failed, 0 to 1; null without a request. */
  errorShare: z.number().nullable(),
  p95Ms: z.number().nullable(),
  /** Requester of its last deployment; null without one. */
  deployedBy: deploymentSummarySchema
    .pick({ actorName: true, requestedByName: true, trigger: true, push: true, commitAuthor: true })
    .nullable(),
});
export type OverviewApp = z.infer<typeof overviewAppSchema>;

/** Total of 24 hours beside that of the 24 hours before. Null: there is no data. */
const totalSchema = z.object({ current: z.number().nullable(), before: z.number().nullable() });

export const totalsSchema = z.object({
  requests: totalSchema,
  /** Share of failed requests, 0 to 1. */
  errorShare: totalSchema,
  deployments: totalSchema,
});
export type Totals = z.infer<typeof totalsSchema>;

export const checklistStepSchema = z.enum(['deploy', 'domain', 'invite', 'server', 'backups', 'mail']);
export type ChecklistStep = z.infer<typeof checklistStepSchema>;

export const checklistSchema = z.array(z.object({ step: checklistStepSchema, isDone: z.boolean() }));
export type Checklist = z.infer<typeof checklistSchema>;

export const overviewSchema = z.object({
  attention: attentionSchema,
  totals: totalsSchema,
  /** First steps in a new organization; null when they are done, or the reader closed them. */
  checklist: checklistSchema.nullable(),
  /** The latest apps, at most 12; `appCount` tells how many there are. */
  apps: z.array(overviewAppSchema),
  appCount: z.number().int(),
  servers: z.array(serverSummarySchema),
  serverCount: z.number().int(),
});
export type Overview = z.infer<typeof overviewSchema>;
