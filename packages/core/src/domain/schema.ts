// Schemas of domains, with the rules of an accepted host name.

import { appIdSchema, domainIdSchema, environmentIdSchema, projectIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { pageInputSchema, pageSchema, searchSchema } from '../kernel/page.ts';
import { policyInputSchema, policySchema } from '../traffic/schema.ts';

// RFC 1123 section 2.1 labels; at least two of them, so that a bare word cannot shadow a name of the local network.
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const hostPattern = new RegExp(`^(?:${label}\\.)+${label}$`);
const addressPattern = /^[0-9.]+$/;

/** An exact host name, lower-cased, without scheme, port, path or wildcard. */
export const hostSchema = z
  .string()
  .trim()
  .toLowerCase()
  .max(253, 'A host name has at most 253 characters.')
  .refine((host) => hostPattern.test(host), 'Enter a host name such as shop.example.com, without https:// or a path.')
  .refine((host) => !addressPattern.test(host), 'Enter a host name, not an IP address.');

/**
 * The beginning of a path, by whole segments: `/api` is `/api` and `/api/x`, not `/apix`. Only characters that no app reads as
 * another: the proxy refuses paths that could be taken for one that leads elsewhere.
 */
export const pathPrefixSchema = z
  .string()
  .trim()
  .max(200, 'A path has at most 200 characters.')
  .regex(
    /^(?:\/[A-Za-z0-9._~-]+)*\/?$/,
    'Enter the beginning of a path such as /api: letters, digits, dots and dashes.',
  )
  .refine((path) => !path.split('/').some((part) => part === '.' || part === '..'), 'Enter a path without “..”.')
  .refine((path) => !/^\/\.well-known(?:\/|$)/.test(path), 'Certificates are asked for there; choose another path.')
  .transform((path) => path.replace(/\/$/, '') || '/');

export const domainSchema = z.object({
  id: domainIdSchema,
  host: z.string(),
  /** "/": all paths that lead nowhere else. */
  pathPrefix: z.string(),
  url: z.string(),
  appId: appIdSchema,
  appName: z.string(),
  appSlug: z.string(),
  projectId: projectIdSchema,
  environmentId: environmentIdSchema,
  environmentName: z.string(),
  isEnvironmentProtected: z.boolean(),
  serverName: z.string().nullable(),
  /** The proxy does more with its requests than to lead them to the app. */
  hasPolicy: z.boolean(),
  createdAt: z.date(),
});
export type DomainView = z.infer<typeof domainSchema>;

export const listDomainsInputSchema = pageInputSchema.extend({ search: searchSchema.optional() });
export type ListDomainsInput = z.infer<typeof listDomainsInputSchema>;
export const domainPageSchema = pageSchema(domainSchema);

/** Default environment: the primary one. */
export const attachDomainInputSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema.optional(),
  host: hostSchema,
  pathPrefix: pathPrefixSchema.default('/'),
});
export type AttachDomainInput = z.infer<typeof attachDomainInputSchema>;

export const domainRefSchema = z.object({ domainId: domainIdSchema });
export type DomainRef = z.infer<typeof domainRefSchema>;

export const domainPolicySchema = domainSchema.extend({ policy: policySchema });
export type DomainPolicyView = z.infer<typeof domainPolicySchema>;

export const updateDomainPolicyInputSchema = domainRefSchema.extend({ policy: policyInputSchema });
export type UpdateDomainPolicyInput = z.infer<typeof updateDomainPolicyInputSchema>;
