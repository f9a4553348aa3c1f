// Schemas of service accounts in the API.
import { customRoleIdSchema, serviceAccountIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { nameSchema } from '../kernel/text.ts';
import { memberRoleSchema, roleSchema } from '../role/schema.ts';
import { newTokenSchema, tokenSchema } from '../token/schema.ts';

/** Owning is for people. */
const serviceRoleSchema = z.union([roleSchema.exclude(['owner']), customRoleIdSchema]);

export const serviceAccountSchema = z.object({
  id: serviceAccountIdSchema,
  name: z.string(),
  role: memberRoleSchema,
  createdAt: z.date(),
  tokens: z.array(tokenSchema),
});
export type ServiceAccountView = z.infer<typeof serviceAccountSchema>;
export const serviceAccountListSchema = z.object({ items: z.array(serviceAccountSchema) });

export const createServiceAccountInputSchema = z.object({ name: nameSchema, role: serviceRoleSchema });
export type CreateServiceAccountInput = z.infer<typeof createServiceAccountInputSchema>;

export const serviceAccountRefSchema = z.object({ serviceAccountId: serviceAccountIdSchema });
export type ServiceAccountRef = z.infer<typeof serviceAccountRefSchema>;

export const updateServiceAccountInputSchema = serviceAccountRefSchema.extend({ role: serviceRoleSchema });
export type UpdateServiceAccountInput = z.infer<typeof updateServiceAccountInputSchema>;

export const deleteServiceAccountInputSchema = serviceAccountRefSchema.extend({ confirmName: z.string().max(200) });
export type DeleteServiceAccountInput = z.infer<typeof deleteServiceAccountInputSchema>;

export const createServiceTokenInputSchema = newTokenSchema
  .extend(serviceAccountRefSchema.shape)
  .refine((input) => input.projectId === undefined || input.environmentId === undefined, {
    path: ['environmentId'],
    message: 'Choose a project or an environment, not both.',
  });
export type CreateServiceTokenInput = z.infer<typeof createServiceTokenInputSchema>;
