// Schemas of the overview page: what needs attention, and the latest of everything.

import { deploymentIdSchema, environmentIdSchema, projectIdSchema, serverIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { appSummarySchema } from '../app/schema.ts';
import { deploymentSummarySchema } from '../deployment/schema.ts';
import { serverSummarySchema } from '../server/schema.ts';

export const attentionSchema = z.object({
  kind: z.enum([
    'deployment_failed',
    'app_unhealthy',
    'server_offline',
    'server_refused',
    'clock_offset',
    'secret_expiring',
  ]),
  title: z.string(),
  detail: z.string(),
  appSlug: z.string().nullable(),
  /** Environment of the app, where it matters. */
  environmentId: environmentIdSchema.nullable(),
  deploymentId: deploymentIdSchema.nullable(),
  serverId: serverIdSchema.nullable(),
});
export type Attention = z.infer<typeof attentionSchema>;

/** Default: all projects. Servers belong to the organization and are always shown. */
export const getOverviewInputSchema = z.object({ projectId: projectIdSchema.optional() });
export type GetOverviewInput = z.infer<typeof getOverviewInputSchema>;

export const overviewSchema = z.object({
  attention: z.array(attentionSchema),
  /** The busiest and latest apps, at most 12; `appCount` tells how many there are. */
  apps: z.array(appSummarySchema),
  appCount: z.number().int(),
  servers: z.array(serverSummarySchema),
  serverCount: z.number().int(),
  deployments: z.array(deploymentSummarySchema),
});
export type Overview = z.infer<typeof overviewSchema>;
