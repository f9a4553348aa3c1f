// Owns the shape of deployments, their steps and their log as they cross the API.

import {
  appIdSchema,
  deploymentIdSchema,
  environmentIdSchema,
  projectIdSchema,
  releaseIdSchema,
  serverIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { pageInputSchema, pageSchema } from '../kernel/page.ts';
import { refSchema } from '../source/schema.ts';

export const deploymentStateSchema = z.enum([
  'queued',
  'building',
  'rolling_out',
  'live',
  'failed',
  'cancelled',
  'superseded',
]);
export type DeploymentState = z.infer<typeof deploymentStateSchema>;

export const deploymentTriggerSchema = z.enum(['manual', 'redeploy', 'rollback', 'push', 'secret', 'restart']);
export type DeploymentTrigger = z.infer<typeof deploymentTriggerSchema>;

export const stepNameSchema = z.enum(['queue', 'clone', 'build', 'pack', 'start', 'health', 'switch', 'drain']);
export type StepName = z.infer<typeof stepNameSchema>;

export const stepStateSchema = z.enum(['pending', 'running', 'done', 'failed', 'skipped']);
export type StepState = z.infer<typeof stepStateSchema>;

export const deploymentSummarySchema = z.object({
  id: deploymentIdSchema,
  number: z.number().int(),
  appId: appIdSchema,
  appName: z.string(),
  appSlug: z.string(),
  environmentId: environmentIdSchema,
  environmentName: z.string(),
  trigger: deploymentTriggerSchema,
  state: deploymentStateSchema,
  ref: z.string(),
  commitHash: z.string().nullable(),
  commitSubject: z.string().nullable(),
  commitAuthor: z.string().nullable(),
  releaseId: releaseIdSchema.nullable(),
  releaseNumber: z.number().int().nullable(),
  /** The member who asked; null for the system. */
  actorName: z.string().nullable(),
  failureCode: z.string().nullable(),
  failureMessage: z.string().nullable(),
  queuedAt: z.date(),
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
  /** From start to end; null while it runs or if it never started. */
  durationMs: z.number().int().nullable(),
  /** Its release is the one that serves now. */
  isCurrent: z.boolean(),
});
export type DeploymentSummary = z.infer<typeof deploymentSummarySchema>;

export const deploymentStepSchema = z.object({
  name: stepNameSchema,
  position: z.number().int(),
  state: stepStateSchema,
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
  durationMs: z.number().int().nullable(),
});
export type DeploymentStepView = z.infer<typeof deploymentStepSchema>;

/** Withdrawn: the deployment ended before anybody decided. */
export const approvalStateSchema = z.enum(['pending', 'approved', 'refused', 'withdrawn']);

export const deploymentDetailSchema = deploymentSummarySchema.extend({
  repositoryUrl: z.string(),
  projectId: projectIdSchema,
  serverId: serverIdSchema.nullable(),
  serverName: z.string().nullable(),
  steps: z.array(deploymentStepSchema),
  cancelRequestedAt: z.date().nullable(),
  canCancel: z.boolean(),
  canRedeploy: z.boolean(),
  /** It is over, and its release exists but does not serve now. */
  canRollBackTo: z.boolean(),
  logLineCount: z.number().int(),
  /** Null when its environment asked for none. */
  approval: z
    .object({
      /** Pending only while it waits for somebody. */
      state: approvalStateSchema,
      decidedByName: z.string().nullable(),
      decidedAt: z.date().nullable(),
      /** The reader asked for it, so somebody else has to decide. */
      isOwn: z.boolean(),
    })
    .nullable(),
});
export type DeploymentDetail = z.infer<typeof deploymentDetailSchema>;

export const listDeploymentsInputSchema = pageInputSchema.extend({
  appId: appIdSchema.optional(),
  state: deploymentStateSchema.optional(),
});
export type ListDeploymentsInput = z.infer<typeof listDeploymentsInputSchema>;
export const deploymentPageSchema = pageSchema(deploymentSummarySchema);

export const deploymentRefSchema = z.object({ deploymentId: deploymentIdSchema });
export type DeploymentRef = z.infer<typeof deploymentRefSchema>;

/** Without a ref: the newest commit of the branch the app follows. */
export const createDeploymentInputSchema = z.object({ appId: appIdSchema, ref: refSchema.optional() });
export type CreateDeploymentInput = z.infer<typeof createDeploymentInputSchema>;

/** Rolls the live release out again, with the newest secrets. */
export const deploySecretsInputSchema = z.object({ appId: appIdSchema });
export type DeploySecretsInput = z.infer<typeof deploySecretsInputSchema>;

export const rollbackAppInputSchema = z.object({ appId: appIdSchema, releaseId: releaseIdSchema });
export type RollbackAppInput = z.infer<typeof rollbackAppInputSchema>;

/** Rolls the live release out beside itself. */
export const restartAppInputSchema = z.object({ appId: appIdSchema });
export type RestartAppInput = z.infer<typeof restartAppInputSchema>;
