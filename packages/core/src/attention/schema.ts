// Schemas of what needs attention: groups of problems by kind and cause, and the filter of lists that shows one group.

import {
  certificateIdSchema,
  deploymentIdSchema,
  environmentIdSchema,
  projectIdSchema,
  serverIdSchema,
  uploadedCertificateIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';

export const attentionKindSchema = z.enum([
  'server_offline',
  'app_unhealthy',
  'approval',
  'deployment_failed',
  'deployment_stuck',
  'disk_short',
  'certificate',
  'server_refused',
  'clock_offset',
  'secret_expiring',
]);
export type AttentionKind = z.infer<typeof attentionKindSchema>;

const causeSchema = z.string().max(100);

/** Shows what needs attention of one kind, without what the reader acknowledged. */
export const attentionFilterSchema = z.object({
  kind: attentionKindSchema,
  /** Error code of failed deployments; default: all. */
  cause: causeSchema.optional(),
  /** Default: all projects. */
  projectId: projectIdSchema.optional(),
});
export type AttentionFilter = z.infer<typeof attentionFilterSchema>;

export const attentionItemSchema = z.object({
  /** Names what needs attention, for `overview.acknowledge`. */
  subject: z.string(),
  title: z.string(),
  detail: z.string(),
  /** When it began; null if unknown. */
  at: z.date().nullable(),
  appSlug: z.string().nullable(),
  /** Environment of the app, where it matters. */
  environmentId: environmentIdSchema.nullable(),
  deploymentId: deploymentIdSchema.nullable(),
  serverId: serverIdSchema.nullable(),
  certificateId: z.union([certificateIdSchema, uploadedCertificateIdSchema]).nullable(),
  /** Owner of a secret; null for other kinds. */
  secretScope: z.enum(['app', 'group']).nullable(),
});
export type AttentionItem = z.infer<typeof attentionItemSchema>;

export const attentionCauseSchema = z.object({
  /** Error code of failed deployments; empty for other kinds. */
  cause: causeSchema,
  /** Cause in words; empty for other kinds. */
  title: z.string(),
  count: z.number().int(),
  /** The newest, at most 5. */
  items: z.array(attentionItemSchema),
});
export type AttentionCause = z.infer<typeof attentionCauseSchema>;

export const attentionGroupSchema = z.object({
  kind: attentionKindSchema,
  /** Such as "24 failed deployments". */
  title: z.string(),
  count: z.number().int(),
  /** The most frequent first. */
  causes: z.array(attentionCauseSchema),
});
export type AttentionGroup = z.infer<typeof attentionGroupSchema>;

export const attentionSchema = z.object({
  groups: z.array(attentionGroupSchema),
  /** Hidden by the reader until they change. */
  acknowledged: z.array(attentionGroupSchema),
});
export type Attention = z.infer<typeof attentionSchema>;

export const acknowledgeAttentionInputSchema = attentionFilterSchema.extend({
  /** Default: all of that kind and cause. */
  subject: z.string().max(200).optional(),
});
export type AcknowledgeAttentionInput = z.infer<typeof acknowledgeAttentionInputSchema>;

/** Number of changed entries. */
export const acknowledgeAttentionOutputSchema = z.object({ count: z.number().int() });
