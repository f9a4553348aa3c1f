// Schemas of an organization, for its members.

import { memberIdSchema, organizationIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { nameSchema, slugSchema } from '../kernel/text.ts';
import { memberRoleSchema, permissionSchema } from '../role/schema.ts';

export const membershipSchema = z.object({
  id: organizationIdSchema,
  name: z.string(),
  slug: slugSchema,
  role: memberRoleSchema,
  /** For a custom role: its name. */
  roleName: z.string(),
  /** In the whole organization. */
  permissions: z.array(permissionSchema),
  /** Further permissions within a project, or within one of its environments. */
  granted: z.array(
    z.object({
      projectId: z.string().nullable(),
      environmentId: z.string().nullable(),
      permissions: z.array(permissionSchema),
    }),
  ),
  /** Members without a second factor are refused. */
  requiresTwoFactor: z.boolean(),
  /** When it is going to end; null: it stays. */
  deleteAt: z.date().nullable(),
});
export type Membership = z.infer<typeof membershipSchema>;

export const createOrganizationInputSchema = z.object({ name: nameSchema });
export const organizationIdentitySchema = z.object({ id: organizationIdSchema, slug: slugSchema });
export type OrganizationIdentity = z.infer<typeof organizationIdentitySchema>;

export const updateOrganizationInputSchema = z.object({
  name: nameSchema.optional(),
  slug: z.string().trim().toLowerCase().pipe(slugSchema).optional(),
  requiresTwoFactor: z.boolean().optional(),
});
export type UpdateOrganizationInput = z.infer<typeof updateOrganizationInputSchema>;

export const deleteOrganizationInputSchema = z.object({ confirmName: z.string().max(100) });
export type DeleteOrganizationInput = z.infer<typeof deleteOrganizationInputSchema>;
export const organizationDeletionSchema = z.object({ deleteAt: z.date().nullable() });

export const transferOrganizationInputSchema = z.object({
  memberId: memberIdSchema,
  confirmName: z.string().max(100),
});
export type TransferOrganizationInput = z.infer<typeof transferOrganizationInputSchema>;

export const leaveOrganizationInputSchema = z.object({ organizationId: organizationIdSchema });
export const leftOrganizationSchema = z.object({ organizationId: organizationIdSchema });
