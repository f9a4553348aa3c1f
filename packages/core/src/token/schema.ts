// Schemas of API tokens in the API, with the accepted scopes and ranges.
import { environmentIdSchema, projectIdSchema, serviceAccountIdSchema, tokenIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { ipRangeSchema } from '../kernel/address.ts';
import { nameSchema } from '../kernel/text.ts';
import { permissionSchema } from '../role/schema.ts';

/**
 * Permissions that no token has, because a person must be present: to assign rights or make tokens, to reveal secrets,
 * to approve a deployment, to delete or transfer an organization.
 */
const personOnly = [
  // A person sees what strangers will see.
  'benchmark.publish',
  'deployment.approve',
  // If a token could switch protection off, it would not bind the token's holder.
  'environment.write',
  'member.invite',
  'member.write',
  'organization.delete',
  'organization.transfer',
  // A project decides who may see its apps, and a move of an app changes that.
  'project.write',
  'role.write',
  'secret.reveal',
  'token.read',
  'token.write',
] as const;

export const tokenPermissionSchema = permissionSchema.exclude([...personOnly]);
export type TokenPermission = z.infer<typeof tokenPermissionSchema>;

const lifetimeDaysMax = 366;

export const newTokenSchema = z.object({
  name: nameSchema,
  permissions: z
    .array(tokenPermissionSchema)
    .min(1, 'Choose at least one permission.')
    .max(tokenPermissionSchema.options.length),
  /** Scope of the token; default: wherever its owner may. */
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
  /** Permissions that the caller may give to a new token. */
  grantable: z.array(tokenPermissionSchema),
});
export type TokenList = z.infer<typeof tokenListSchema>;

/** Token of a member, as a manager of members sees it. */
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

/** `token` is returned here and never again. */
export const createdTokenSchema = tokenSchema.extend({ token: z.string() });
export type CreatedToken = z.infer<typeof createdTokenSchema>;

export const tokenRefSchema = z.object({ tokenId: tokenIdSchema });
export type TokenRef = z.infer<typeof tokenRefSchema>;
