// Owns the shape of an organization as its members see it.

import { organizationIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { slugSchema } from '../kernel/text.ts';
import { memberRoleSchema, permissionSchema } from '../role/schema.ts';

export const membershipSchema = z.object({
  id: organizationIdSchema,
  name: z.string(),
  slug: slugSchema,
  role: memberRoleSchema,
  /** Of a custom role the name it was given. */
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
});
export type Membership = z.infer<typeof membershipSchema>;
