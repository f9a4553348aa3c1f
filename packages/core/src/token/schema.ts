// Owns the shape of API tokens as they cross the API, and what the border accepts as scopes and ranges.
import { environmentIdSchema, projectIdSchema, serviceAccountIdSchema, tokenIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { nameSchema } from '../kernel/text.ts';
import { permissionSchema } from '../role/schema.ts';

/**
 * What no token ever carries, because it must be a person who is there: giving rights to others, tokens included, showing
 * secrets, the second word on a deployment, the end or the transfer of an organization.
 */
const personOnly = [
  'deployment.approve',
  // Protection that a token could switch off would protect from nobody who holds one.
  'environment.write',
  'member.invite',
  'member.write',
  'organization.delete',
  'organization.transfer',
  'role.write',
  'secret.reveal',
  'token.read',
  'token.write',
] as const;

export const tokenPermissionSchema = permissionSchema.exclude([...personOnly]);
export type TokenPermission = z.infer<typeof tokenPermissionSchema>;

export const ipRangeSchema = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'Enter an address or a network such as 203.0.113.0/24.',
});

const lifetimeDaysMax = 366;

export const newTokenSchema = z.object({
  name: nameSchema,
  permissions: z
    .array(tokenPermissionSchema)
    .min(1, 'Choose at least one permission.')
    .max(tokenPermissionSchema.options.length),
  /** Where it may do so; without one, wherever its owner may. */
  projectId: projectIdSchema.optional(),
  environmentId: environmentIdSchema.optional(),
  ipRanges: z.array(ipRangeSchema).max(20).default([]),
  lifetimeDays: z.number().int().min(1).max(lifetimeDaysMax).default(90),
});

export const createTokenInputSchema = newTokenSchema.refine(
  (input) => input.projectId === undefined || input.environmentId === undefined,
  { path: ['environmentId'], message: 'Choose a project or an environment, not both.' },
);
export type CreateTokenInput = z.infer<typeof createTokenInputSchema>;

export const tokenSchema = z.object({
  id: tokenIdSchema,
  name: z.string(),
  /** Its last characters. */
  hint: z.string(),
  serviceAccountId: serviceAccountIdSchema.nullable(),
  permissions: z.array(permissionSchema),
  projectId: projectIdSchema.nullable(),
  environmentId: environmentIdSchema.nullable(),
  ipRanges: z.array(z.string()),
  createdAt: z.date(),
  expiresAt: z.date(),
  expired: z.boolean(),
  /** To the minute; null: never used. */
  lastUsedAt: z.date().nullable(),
});
export type TokenView = z.infer<typeof tokenSchema>;

export const tokenListSchema = z.object({
  items: z.array(tokenSchema),
  /** What a new token may be given by whoever asks. */
  grantable: z.array(tokenPermissionSchema),
});
export type TokenList = z.infer<typeof tokenListSchema>;

/** Of members, as whoever manages them sees it. */
export const memberTokenSchema = tokenSchema.extend({
  owner: z.object({
    userId: z.string(),
    name: z.string(),
    email: z.string(),
    /** False: they have left, and it opens nothing. */
    isMember: z.boolean(),
  }),
});
export const memberTokenListSchema = z.object({ items: z.array(memberTokenSchema) });
export type MemberTokenList = z.infer<typeof memberTokenListSchema>;

/** `token` is answered here and never again. */
export const createdTokenSchema = tokenSchema.extend({ token: z.string() });
export type CreatedToken = z.infer<typeof createdTokenSchema>;

export const tokenRefSchema = z.object({ tokenId: tokenIdSchema });
export type TokenRef = z.infer<typeof tokenRefSchema>;
