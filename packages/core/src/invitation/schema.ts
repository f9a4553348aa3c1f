// Schemas of invitations in the API.
import { invitationIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { nameSchema } from '../kernel/text.ts';
import { memberRoleSchema } from '../role/schema.ts';

const emailSchema = z.email('Enter an email address.').max(254).toLowerCase();

export const invitationSchema = z.object({
  id: invitationIdSchema,
  /** Null: any holder of the link may accept. */
  email: z.string().nullable(),
  role: memberRoleSchema,
  /** Null when they are no member any more. */
  invitedBy: z.string().nullable(),
  createdAt: z.date(),
  expiresAt: z.date(),
  expired: z.boolean(),
  /** Null for a link; of a mail, whether the mail server took it. */
  mailed: z.boolean().nullable(),
});
export type InvitationView = z.infer<typeof invitationSchema>;
export const invitationListSchema = z.object({
  items: z.array(invitationSchema),
  /** True if this control plane can send mail. */
  mailAvailable: z.boolean(),
});

export const createInvitationInputSchema = z.object({
  role: memberRoleSchema,
  /** Absent: a link that any holder may use. */
  email: emailSchema.optional(),
});
export type CreateInvitationInput = z.infer<typeof createInvitationInputSchema>;

export const invitationInputSchema = z.object({ invitationId: invitationIdSchema });
export type InvitationInput = z.infer<typeof invitationInputSchema>;

export const mintedInvitationSchema = z.object({
  invitationId: invitationIdSchema,
  expiresAt: z.date(),
  /** Link, shown once. Null for invitations by mail: only the recipient gets their link. */
  url: z.string().nullable(),
});

export const invitationTokenInputSchema = z.object({
  token: z.string().trim().min(1, 'The link is not complete. Copy all of it.').max(200),
});

/** Preview for the holder of a token. */
export const invitationPreviewSchema = z.object({
  organizationName: z.string(),
  /** Null for a custom role, because its name is internal to the organization. */
  role: memberRoleSchema.nullable(),
  invitedBy: z.string().nullable(),
  email: z.string().nullable(),
  expiresAt: z.date(),
});
export type InvitationPreview = z.infer<typeof invitationPreviewSchema>;

export const claimInvitationInputSchema = invitationTokenInputSchema.extend({
  name: nameSchema,
  email: emailSchema,
  password: z
    .string()
    .min(12, 'Choose a password of at least 12 characters.')
    .max(128, 'A password has at most 128 characters.'),
});

export const joinedSchema = z.object({ organizationSlug: z.string() });
export type Joined = z.infer<typeof joinedSchema>;
