// Schemas of grants in the API: further roles of a member, also in one project or environment.
import {
  customRoleIdSchema,
  environmentIdSchema,
  grantIdSchema,
  memberIdSchema,
  projectIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { memberRoleSchema, roleSchema } from '../role/schema.ts';

export const grantScopeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('organization') }),
  z.object({ kind: z.literal('project'), projectId: projectIdSchema }),
  z.object({ kind: z.literal('environment'), environmentId: environmentIdSchema }),
]);
export type GrantScope = z.infer<typeof grantScopeSchema>;

/** Ownership is a role in the organization and is never granted in addition. */
const grantedRoleSchema = z.union([roleSchema.exclude(['owner']), customRoleIdSchema]);

export const createGrantInputSchema = z.object({
  memberId: memberIdSchema,
  role: grantedRoleSchema,
  scope: grantScopeSchema,
});
export type CreateGrantInput = z.infer<typeof createGrantInputSchema>;

export const grantRefSchema = z.object({ grantId: grantIdSchema });
export type GrantRef = z.infer<typeof grantRefSchema>;

export const listGrantsInputSchema = z.object({ memberId: memberIdSchema.optional() });
export type ListGrantsInput = z.infer<typeof listGrantsInputSchema>;

export const grantSchema = z.object({
  id: grantIdSchema,
  memberId: memberIdSchema,
  role: memberRoleSchema,
  scope: grantScopeSchema,
  /** Name of the project, or of project and environment; null: the organization. */
  scopeName: z.string().nullable(),
  createdAt: z.date(),
});
export const grantListSchema = z.object({ items: z.array(grantSchema) });
export type GrantList = z.infer<typeof grantListSchema>;
