// Owns the shape of a member of an organization.

import { memberIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { memberRoleSchema } from '../role/schema.ts';

export const memberSchema = z.object({
  id: memberIdSchema,
  userId: z.string(),
  name: z.string(),
  email: z.string(),
  role: memberRoleSchema,
  createdAt: z.date(),
});
export type MemberView = z.infer<typeof memberSchema>;

export const memberListSchema = z.object({ items: z.array(memberSchema) });
