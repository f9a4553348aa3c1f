// Schemas of the signed-in person: identity and memberships.
import { organizationIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { membershipSchema } from '../organization/schema.ts';

export const userSchema = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  /** Null: the browser's. */
  locale: z.string().nullable(),
  timeZone: z.string().nullable(),
  hasSecondFactor: z.boolean(),
});

export const meSchema = z.object({
  user: userSchema,
  organizations: z.array(membershipSchema),
  /** Organization in which the person operates the control plane; null for most people. */
  operatedOrganizationId: organizationIdSchema.nullable(),
});
export type Me = z.infer<typeof meSchema>;
