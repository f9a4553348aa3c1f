// Schemas of deployments, their steps and their log in the API.

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
  'releasing',
  'rolling_out',
  'live',
  'failed',
  'cancelled',
  'superseded',
]);
export type DeploymentState = z.infer<typeof deploymentStateSchema>;

/** States in which a deployment builds or rolls out. */
export const activeDeploymentStates: readonly DeploymentState[] = ['building', 'releasing', 'rolling_out'];

/** `manual`, `api` and `system`: a new deployment by a member, by an API token and by the control plane itself. */
export const deploymentTriggerSchema = z.enum([
  'manual',
  'api',
  'system',
  'redeploy',
  'rollback',
  'push',
  'secret',
  'restart',
  'retry',
  'promote',
  'upload',
]);
export type DeploymentTrigger = z.infer<typeof deploymentTriggerSchema>;

export const stepNameSchema = z.enum([
  'queue',
  'clone',
  'build',
  'pack',
  'fetch',
  'release',
  'start',
  'health',
  'canary',
  'switch',
  'drain',
  'after',
]);
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
  /** The member who asked, in person or by their own token; null for service accounts and the system. */
  actorName: z.string().nullable(),
  /** The person behind the request: the member, or the maker of the service account's token. Null if there is none. */
  requestedByName: z.string().nullable(),
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

/** Withdrawn: the deployment ended before a decision. */
export const approvalStateSchema = z.enum(['pending', 'approved', 'refused', 'withdrawn']);

export const serverRolloutStateSchema = z.enum([
  'waiting',
  'rolling_out',
  'live',
  'failed',
  'cancelled',
  'reverting',
  'reverted',
]);
export type ServerRolloutState = z.infer<typeof serverRolloutStateSchema>;

/** The part of a rollout that one server does. The first one goes ahead, the others follow together. */
export const serverRolloutSchema = z.object({
  serverId: serverIdSchema,
  /** Null: the server was deleted since. */
  serverName: z.string().nullable(),
  state: serverRolloutStateSchema,
  failureMessage: z.string().nullable(),
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
});

export const waitReasonSchema = z.enum([
  'approval',
  'behind',
  'build_slot',
  'server_offline',
  'agent_lacks',
  'building',
  'release_command',
  'instances',
  'other_servers',
  'going_back',
]);
export type WaitReason = z.infer<typeof waitReasonSchema>;

/** Why something is not live yet, as a whole sentence. */
export const waitSchema = z.object({ reason: waitReasonSchema, sentence: z.string() });
export type Wait = z.infer<typeof waitSchema>;

export const deploymentDetailSchema = deploymentSummarySchema.extend({
  repositoryUrl: z.string(),
  projectId: projectIdSchema,
  serverId: serverIdSchema.nullable(),
  serverName: z.string().nullable(),
  steps: z.array(deploymentStepSchema),
  cancelRequestedAt: z.date().nullable(),
  canCancel: z.boolean(),
  canRedeploy: z.boolean(),
  /** It failed or was cancelled: what it had got to is used again. */
  canRetry: z.boolean(),
  /** Why it is not live; null once it is over. */
  waiting: waitSchema.nullable(),
  /** Result of each server; empty before the rollout begins. */
  servers: z.array(serverRolloutSchema),
  /** Number of the settings version that it used; 0: the defaults. Null before it begins. */
  configNumber: z.number().int().nullable(),
  withoutCache: z.boolean(),
  /** Detections and decisions of the builder, a sentence each. */
  plan: z.array(z.string()),
  /** Names in the repository's .env.example that neither a secret nor a variable of its release has. */
  missingNames: z.array(z.string()),
  /** It is over, and its release exists but does not serve now. */
  canRollBackTo: z.boolean(),
  logLineCount: z.number().int(),
  /** Null if its environment required none. */
  approval: z
    .object({
      /** State `pending` occurs only while it awaits approval. */
      state: approvalStateSchema,
      decidedByName: z.string().nullable(),
      decidedAt: z.date().nullable(),
      /** True if the reader requested it, so another member has to decide. */
      isOwn: z.boolean(),
    })
    .nullable(),
});
export type DeploymentDetail = z.infer<typeof deploymentDetailSchema>;

export const listDeploymentsInputSchema = pageInputSchema.extend({
  appId: appIdSchema.optional(),
  environmentId: environmentIdSchema.optional(),
  state: deploymentStateSchema.optional(),
});
export type ListDeploymentsInput = z.infer<typeof listDeploymentsInputSchema>;
export const deploymentPageSchema = pageSchema(deploymentSummarySchema);

export const deploymentRefSchema = z.object({ deploymentId: deploymentIdSchema });
export type DeploymentRef = z.infer<typeof deploymentRefSchema>;

export const digestSchema = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'This is no digest: sha256: and 64 hexadecimal digits.');

/** Default ref: the newest commit of the app's branch. Default environment: the primary one. */
export const createDeploymentInputSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema.optional(),
  ref: refSchema.optional(),
  /** A folder that was uploaded, instead of the repository. */
  uploadDigest: digestSchema.optional(),
  withoutCache: z.boolean().optional(),
});
export type CreateDeploymentInput = z.infer<typeof createDeploymentInputSchema>;

export const moveAppsInputSchema = z.object({
  serverId: serverIdSchema,
  targetServerId: serverIdSchema,
  /** Moves apps with volumes too: they start with empty ones, and their data stays behind. Default: false. */
  leaveVolumes: z.boolean().optional(),
});
export type MoveAppsInput = z.infer<typeof moveAppsInputSchema>;

export const movedAppsSchema = z.object({
  /** Apps that were added to the target server; `deploymentId` is null for an app that was never live. */
  items: z.array(
    z.object({
      appId: appIdSchema,
      environmentId: environmentIdSchema,
      deploymentId: deploymentIdSchema.nullable(),
    }),
  ),
});
export type MovedApps = z.infer<typeof movedAppsSchema>;

/** Rolls the live release out again, with the newest secrets. */
export const deploySecretsInputSchema = z.object({ appId: appIdSchema, environmentId: environmentIdSchema.optional() });
export type DeploySecretsInput = z.infer<typeof deploySecretsInputSchema>;

export const rollbackAppInputSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema.optional(),
  releaseId: releaseIdSchema,
});
export type RollbackAppInput = z.infer<typeof rollbackAppInputSchema>;

/** Restarts the live release. */
export const restartAppInputSchema = z.object({ appId: appIdSchema, environmentId: environmentIdSchema.optional() });
export type RestartAppInput = z.infer<typeof restartAppInputSchema>;

export const redeployInputSchema = deploymentRefSchema.extend({ withoutCache: z.boolean().optional() });
export type RedeployInput = z.infer<typeof redeployInputSchema>;

/** The same artifact in another environment, with the settings and secrets of that one. */
export const promoteReleaseInputSchema = z.object({
  /** Target environment. */
  environmentId: environmentIdSchema,
  releaseId: releaseIdSchema,
});
export type PromoteReleaseInput = z.infer<typeof promoteReleaseInputSchema>;
