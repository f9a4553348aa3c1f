// Schemas of deployment URLs.
import { releaseIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';

/**
 * Reason why no release of an app in an environment has a deployment URL. `off`: switched off in the settings. `no_base_domain`:
 * its primary server has none. `no_wildcard`: no certificate can cover them. `conflict`: another organization has the base domain.
 * `redirected`: the app's own name below the base domain is a redirect. `drained`: its primary server is drained. `agent_lacks`:
 * the server's agent is too old.
 */
export const noUrlReasonSchema = z.enum([
  'off',
  'no_base_domain',
  'no_wildcard',
  'conflict',
  'redirected',
  'drained',
  'agent_lacks',
]);
export type NoUrlReason = z.infer<typeof noUrlReasonSchema>;

export const deploymentUrlsSchema = z.object({
  /** Null: the newest releases have one. */
  reason: noUrlReasonSchema.nullable(),
  urls: z.array(z.object({ releaseId: releaseIdSchema, url: z.string() })),
});
export type DeploymentUrls = z.infer<typeof deploymentUrlsSchema>;
