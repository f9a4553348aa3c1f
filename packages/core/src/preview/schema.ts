// Schemas of previews in the API.
import { appIdSchema, deploymentIdSchema, environmentIdSchema, previewIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { deploymentStateSchema } from '../deployment/schema.ts';
import { objectHashSchema } from '../source/schema.ts';

/** `waiting`: for the approval of a fork's commit. `limited`: for a place. `off`: previews are switched off. */
export const previewStateSchema = z.enum([
  'active',
  'waiting',
  'limited',
  'draft',
  'expired',
  'removed',
  'unnamed',
  'failed',
  'off',
  'closed',
]);
export type PreviewState = z.infer<typeof previewStateSchema>;

/**
 * Why a delivery changed nothing: an older change arrived late, too many forks wait already, or no changed file matches a watch
 * path.
 */
export const previewOutcomeSchema = z.enum([...previewStateSchema.options, 'stale', 'too_many', 'no_watched_path']);
export type PreviewOutcome = z.infer<typeof previewOutcomeSchema>;

export const previewSchema = z.object({
  id: previewIdSchema,
  number: z.number().int(),
  title: z.string(),
  author: z.string(),
  headRef: z.string(),
  headHash: z.string(),
  isFork: z.boolean(),
  state: previewStateSchema,
  /** Why it failed; empty: it did not. */
  problem: z.string(),
  /** Page of the pull request. */
  pullRequestUrl: z.string(),
  environmentId: environmentIdSchema.nullable(),
  url: z.string().nullable(),
  deploymentId: deploymentIdSchema.nullable(),
  deploymentState: deploymentStateSchema.nullable(),
  /** Its server has taken the build and runs others first. */
  awaitsBuild: z.boolean(),
  pushedAt: z.date(),
});
export type PreviewView = z.infer<typeof previewSchema>;

export const previewsOfSchema = z.object({ appId: appIdSchema });
export type PreviewsOf = z.infer<typeof previewsOfSchema>;
export const previewListSchema = z.object({ items: z.array(previewSchema) });
export type PreviewList = z.infer<typeof previewListSchema>;

const environmentBriefSchema = z.object({ environmentId: environmentIdSchema, environmentName: z.string() });

export const previewPolicySchema = z.object({
  appId: appIdSchema,
  /** True if a GitHub App reaches the app's repository. */
  isLinked: z.boolean(),
  enabled: z.boolean(),
  /** Environment whose settings, secrets and servers previews use; null: none is chosen. */
  environmentId: environmentIdSchema.nullable(),
  environmentName: z.string().nullable(),
  /** Null: the server of that environment has no base domain. */
  baseDomain: z.string().nullable(),
  previewsMax: z.number().int(),
  daysMax: z.number().int(),
  drafts: z.boolean(),
  /** Environments that previews can use. */
  candidates: z.array(environmentBriefSchema),
});
export type PreviewPolicyView = z.infer<typeof previewPolicySchema>;

export const updatePreviewPolicyInputSchema = previewsOfSchema.extend({
  enabled: z.boolean(),
  /** Default: the chosen one, else a new environment “Previews”. */
  environmentId: environmentIdSchema.optional(),
  previewsMax: z.number().int().min(1).max(100, 'An app has at most 100 previews at the same time.').default(10),
  daysMax: z.number().int().min(1).max(90, 'A preview lasts at most 90 days after the last push.').default(14),
  drafts: z.boolean().default(true),
});
export type UpdatePreviewPolicyInput = z.infer<typeof updatePreviewPolicyInputSchema>;

export const previewRefSchema = z.object({ previewId: previewIdSchema });
export type PreviewRef = z.infer<typeof previewRefSchema>;

/** The approval is for this commit alone. */
export const approvePreviewInputSchema = previewRefSchema.extend({ commitHash: objectHashSchema });
export type ApprovePreviewInput = z.infer<typeof approvePreviewInputSchema>;

/** Decision about a pull request for an app, as a delivery's page shows it. */
export const previewDecisionSchema = z.object({
  appId: appIdSchema,
  appName: z.string(),
  appSlug: z.string(),
  number: z.number().int(),
  outcome: previewOutcomeSchema,
  detail: z.string(),
  deploymentId: deploymentIdSchema.nullable(),
  decidedAt: z.date(),
});
export type PreviewDecisionView = z.infer<typeof previewDecisionSchema>;
