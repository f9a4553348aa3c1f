// Owns the shape of an organization as its members see it.

import { organizationIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { slugSchema } from '../kernel/text.ts';
import { permissionSchema, roleSchema } from '../role/schema.ts';

export const membershipSchema = z.object({
  id: organizationIdSchema,
  name: z.string(),
  slug: slugSchema,
  role: roleSchema,
  permissions: z.array(permissionSchema),
});
export type Membership = z.infer<typeof membershipSchema>;
