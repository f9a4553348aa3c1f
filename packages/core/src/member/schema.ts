// Schema of a member of an organization.

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

export const updateMemberInputSchema = z.object({ memberId: memberIdSchema, role: memberRoleSchema });
export type UpdateMemberInput = z.infer<typeof updateMemberInputSchema>;

export const deleteMemberInputSchema = z.object({ memberId: memberIdSchema });
export type DeleteMemberInput = z.infer<typeof deleteMemberInputSchema>;

export const memberIdentitySchema = z.object({ memberId: memberIdSchema });
export type MemberIdentity = z.infer<typeof memberIdentitySchema>;
