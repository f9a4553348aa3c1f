// Schemas of deployments, their steps and their log in the API.

import {
  appIdSchema,
  deliveryIdSchema,
  deploymentIdSchema,
  environmentIdSchema,
  projectIdSchema,
  releaseIdSchema,
  serverIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { attentionFilterSchema } from '../attention/schema.ts';
import { gateResultSchema } from '../benchmark/schema.ts';
import { countedPageSchema, dateRangeShape, pageInputSchema, searchSchema } from '../kernel/page.ts';
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
  'pull_request',
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
  'benchmark',
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
  projectId: projectIdSchema,
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
  /** Push that it deploys; null for other triggers. */
  push: z.object({ deliveryId: deliveryIdSchema, sender: z.string() }).nullable(),
  failureCode: z.string().nullable(),
  failureMessage: z.string().nullable(),
  queuedAt: z.date(),
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
  /** From its queueing to its end, as its steps add up; null while it runs or if it never started. */
  durationMs: z.number().int().nullable(),
  /** Its release is the one that serves now. */
  isCurrent: z.boolean(),
  /** A release of the app was live in this environment before it. */
  hadLiveRelease: z.boolean(),
  /** Its server has taken the build and runs others first. */
  awaitsBuild: z.boolean(),
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
  /** Null: no gate, or its load has not begun. */
  gate: gateResultSchema.nullable(),
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
});

export const waitReasonSchema = z.enum([
  'approval',
  'checks',
  'behind',
  'build_slot',
  'server_offline',
  'agent_lacks',
  'building',
  'release_command',
  'instances',
  'other_servers',
  'going_back',
  'moving',
]);
export type WaitReason = z.infer<typeof waitReasonSchema>;

/** Deployment that builds first. */
export const buildAheadSchema = z.object({
  deploymentId: deploymentIdSchema,
  appName: z.string(),
  number: z.number().int(),
});
export type BuildAhead = z.infer<typeof buildAheadSchema>;

/** Why something is not live yet, as a whole sentence. */
export const waitSchema = z.object({
  reason: waitReasonSchema,
  sentence: z.string(),
  /** Position among the builds that wait for a build slot, with those ahead; null for other reasons. */
  queue: z
    .object({
      /** Builds ahead, also those that the reader may not see. */
      aheadCount: z.number().int(),
      /** Those that the reader may see, the next one first. */
      ahead: z.array(buildAheadSchema),
    })
    .nullable(),
});
export type Wait = z.infer<typeof waitSchema>;

export const deploymentDetailSchema = deploymentSummarySchema.extend({
  repositoryUrl: z.string(),
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
  /** A build that waits for another (`awaitsBuild`) counts as queued. */
  state: deploymentStateSchema.optional(),
  /** Number of a deployment within its app. */
  number: z.number().int().positive().max(2_147_483_647).optional(),
  projectId: projectIdSchema.optional(),
  /** A server that built it or that it was rolled out to. */
  serverId: serverIdSchema.optional(),
  /** The branch, tag or commit that was requested. */
  branch: z.string().trim().min(1).max(200).optional(),
  /** Id of the user behind the request, in person or by a token. */
  requestedBy: z.string().min(1).max(100).optional(),
  /** Part of the app's name, commit subject, commit author or branch; the start of a commit hash; or a number such as #12. */
  search: searchSchema.optional(),
  /** When it was queued. `to` is exclusive. */
  ...dateRangeShape,
  /** Default: the newest first. */
  order: z.enum(['newest', 'oldest']).optional(),
  /** Only those that need attention. */
  attention: attentionFilterSchema.optional(),
});
export type ListDeploymentsInput = z.infer<typeof listDeploymentsInputSchema>;
export const deploymentPageSchema = countedPageSchema(deploymentSummarySchema);

/** Values of recent deployments to filter by. */
export const deploymentFiltersSchema = z.object({
  branches: z.array(z.string()),
  authors: z.array(z.object({ id: z.string(), name: z.string() })),
});
export type DeploymentFilters = z.infer<typeof deploymentFiltersSchema>;

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
