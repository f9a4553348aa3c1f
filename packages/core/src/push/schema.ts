// Schemas of pushes, deliveries of webhooks and decisions in the API.
import {
  appIdSchema,
  appWebhookIdSchema,
  deliveryIdSchema,
  deploymentIdSchema,
  environmentIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { deploymentStateSchema } from '../deployment/schema.ts';
import { pageInputSchema, pageSchema } from '../kernel/page.ts';
import { nameSchema } from '../kernel/text.ts';
import { placementInputSchema } from '../placement/schema.ts';
import { previewDecisionSchema } from '../preview/schema.ts';

/**
 * `deployed`: a deployment was queued. `failed`: the deployment could not be queued. `refused`: the person who asked for it at the
 * git host may not.
 */
export const pushOutcomeSchema = z.enum(['deployed', 'skipped', 'superseded', 'paused', 'failed', 'refused']);
export type PushOutcome = z.infer<typeof pushOutcomeSchema>;

export const pushReasonSchema = z.enum([
  'matches',
  'not_a_branch',
  'other_branch',
  'unknown_default_branch',
  'no_tag_pattern',
  'other_tag',
  'ref_deleted',
  'skip_marker',
  'no_watched_path',
  'repeated',
  'later_push',
  'paused',
  'not_queued',
  'rerun',
  'rollback',
  'promote',
]);
export type PushReason = z.infer<typeof pushReasonSchema>;

/** A push for one app in one environment, with the decision and its result. */
export const pushDecisionSchema = z.object({
  appId: appIdSchema,
  appName: z.string(),
  appSlug: z.string(),
  environmentId: environmentIdSchema,
  environmentName: z.string(),
  outcome: pushOutcomeSchema,
  reason: pushReasonSchema,
  /** The marker, branch or pattern that decided; the delivery of the later push; who asked; the failure. */
  detail: z.string(),
  deploymentId: deploymentIdSchema.nullable(),
  /** Null without a deployment, and once it is pruned. */
  deploymentNumber: z.number().int().nullable(),
  deploymentState: deploymentStateSchema.nullable(),
  awaitsApproval: z.boolean(),
  /** Its server has taken the build and runs others first. */
  awaitsBuild: z.boolean(),
  /** Checks at GitHub for which its deployment waits. */
  pendingChecks: z.array(z.string()),
  /** Why its deployment failed. */
  failureMessage: z.string().nullable(),
  decidedAt: z.date(),
});
export type PushDecisionView = z.infer<typeof pushDecisionSchema>;

/** `ignored`: no app is built from its repository. `failed`: it could not be processed. */
export const deliveryStateSchema = z.enum(['received', 'processed', 'ignored', 'failed']);

export const deliverySchema = z.object({
  id: deliveryIdSchema,
  source: z.enum(['github', 'app']),
  event: z.string(),
  state: deliveryStateSchema,
  /** Why it was ignored or failed; empty: neither. */
  problem: z.string(),
  /** Facts of the push; null until it is processed. */
  repository: z.string().nullable(),
  ref: z.string().nullable(),
  commitHash: z.string().nullable(),
  commitSubject: z.string().nullable(),
  commitAuthor: z.string().nullable(),
  sender: z.string().nullable(),
  receivedAt: z.date(),
  processedAt: z.date().nullable(),
  decisions: z.array(pushDecisionSchema),
  /** Decisions about a pull request, for each app. */
  previews: z.array(previewDecisionSchema),
});
export type DeliveryView = z.infer<typeof deliverySchema>;

export const deliveryDetailSchema = deliverySchema.extend({
  /** Id that the git host gave it. */
  deliveryKey: z.string(),
  before: z.string().nullable(),
  after: z.string().nullable(),
  pushedAt: z.date().nullable(),
  attempts: z.number().int(),
  /** It did not arrive, and was fetched from GitHub's log. */
  isRecovered: z.boolean(),
  /** Body as received. */
  body: z.string(),
});
export type DeliveryDetail = z.infer<typeof deliveryDetailSchema>;

export const deliveryRefSchema = z.object({ deliveryId: deliveryIdSchema });
export type DeliveryRef = z.infer<typeof deliveryRefSchema>;

export const listDeliveriesInputSchema = pageInputSchema.extend({
  appId: appIdSchema.optional(),
  /** Only deliveries with such a decision. */
  outcome: pushOutcomeSchema.optional(),
});
export type ListDeliveriesInput = z.infer<typeof listDeliveriesInputSchema>;
export const deliveryPageSchema = pageSchema(deliverySchema);

/** Decides about a push again for one app; default: in its primary environment. */
export const retryPushInputSchema = placementInputSchema.extend({ deliveryId: deliveryIdSchema });
export type RetryPushInput = z.infer<typeof retryPushInputSchema>;
export const retriedPushSchema = z.object({ outcome: pushOutcomeSchema, deploymentId: deploymentIdSchema.nullable() });
export type RetriedPush = z.infer<typeof retriedPushSchema>;

const globsMax = 50;
const globSchema = z
  .string()
  .trim()
  .max(200)
  .regex(/^!?[^\s/!][^\r\n\0]*$/, 'Enter a path or glob from the root of the repository, such as apps/web/**.');

export const pushRulesSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema,
  /** Empty: the repository's default branch. */
  branch: z.string(),
  tagPattern: z.string(),
  watchPaths: z.array(z.string()),
  /** Names of checks at GitHub that must pass before a push is deployed. */
  requiredChecks: z.array(z.string()),
  checksTimeoutMinutes: z.number().int(),
  /** The app has a repository of a connected GitHub account. */
  canWaitForChecks: z.boolean(),
  paused: z.boolean(),
  /** A GitHub App's installation or a webhook can send pushes of this app. */
  receivesPushes: z.boolean(),
  /** Newest push that arrived while deploys were paused, if nothing newer was deployed since; null: none. */
  heldPush: z
    .object({
      deliveryId: deliveryIdSchema,
      ref: z.string(),
      commitHash: z.string().nullable(),
      commitSubject: z.string(),
      commitAuthor: z.string(),
      receivedAt: z.date(),
    })
    .nullable(),
});
export type PushRulesView = z.infer<typeof pushRulesSchema>;

export const updatePushRulesInputSchema = placementInputSchema.extend({
  /** Glob of tags that are deployed; empty: none. */
  tagPattern: z.union([z.literal(''), globSchema]).optional(),
  /** Globs of paths; empty: every push is deployed. */
  watchPaths: z.array(globSchema).max(globsMax).optional(),
  /** Names of check runs and commit statuses at GitHub; empty: a push is deployed at once. */
  requiredChecks: z
    .array(z.string().trim().min(1).max(200))
    .max(20)
    .transform((names) => [...new Set(names)])
    .optional(),
  checksTimeoutMinutes: z
    .number()
    .int()
    .min(1)
    .max(24 * 60)
    .optional(),
});
export type UpdatePushRulesInput = z.infer<typeof updatePushRulesInputSchema>;

export const suggestedPathsSchema = z.object({
  /** Globs of the app's folder, what it needs of the workspace, and shared files; empty: nothing to suggest. */
  watchPaths: z.array(z.string()),
});

/** `token`: requests carry a token. `signature`: requests are signed with a secret. */
export const webhookKindSchema = z.enum(['token', 'signature']);

export const webhookSchema = z.object({
  id: appWebhookIdSchema,
  name: z.string(),
  kind: webhookKindSchema,
  /** Last characters of the token or secret. */
  hint: z.string(),
  createdAt: z.date(),
  rotatedAt: z.date().nullable(),
  lastDeliveryAt: z.date().nullable(),
});
export type WebhookView = z.infer<typeof webhookSchema>;

export const webhooksOfSchema = z.object({ appId: appIdSchema });
export type WebhooksOf = z.infer<typeof webhooksOfSchema>;
export const webhookListSchema = z.object({ items: z.array(webhookSchema) });
export type WebhookList = z.infer<typeof webhookListSchema>;

export const createWebhookInputSchema = webhooksOfSchema.extend({ name: nameSchema, kind: webhookKindSchema });
export type CreateWebhookInput = z.infer<typeof createWebhookInputSchema>;

/** The token or secret is shown this once. */
export const createdWebhookSchema = z.object({ id: appWebhookIdSchema, credential: z.string() });
export type CreatedWebhook = z.infer<typeof createdWebhookSchema>;

export const webhookRefSchema = webhooksOfSchema.extend({ webhookId: appWebhookIdSchema });
export type WebhookRef = z.infer<typeof webhookRefSchema>;
