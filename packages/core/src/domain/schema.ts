// Schemas of domains, with the rules of an accepted host name.

import {
  appIdSchema,
  domainIdSchema,
  environmentIdSchema,
  projectIdSchema,
  serverIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { dnsRecordSchema, hostConflictSchema, hostStateSchema } from '../host/schema.ts';
import { countedPageSchema, pageInputSchema, searchSchema } from '../kernel/page.ts';
import { hostPolicyInputSchema, hostPolicySchema, policyInputSchema, policySchema } from '../traffic/schema.ts';

// RFC 1123 section 2.1 labels; at least two of them, so that a bare word cannot shadow a name of the local network.
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const hostPattern = new RegExp(`^(?:${label}\\.)+${label}$`);
const addressPattern = /^[0-9.]+$/;

/** An exact host name, lower-cased, without scheme, port, path or wildcard. */
export const exactHostSchema = hostName((host) => host);

/** A host name, or `*.` before one: all names one label below it. */
export const hostSchema = hostName((host) => (host.startsWith('*.') ? host.slice(2) : host));

/** `nameOf` returns the part that must be a host name. */
function hostName(nameOf: (host: string) => string) {
  return z
    .string()
    .trim()
    .toLowerCase()
    .max(253, 'A host name has at most 253 characters.')
    .refine(
      (host) => hostPattern.test(nameOf(host)),
      'Enter a host name such as shop.example.com, without https:// or a path.',
    )
    .refine((host) => !addressPattern.test(nameOf(host)), 'Enter a host name, not an IP address.');
}

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
  .refine(
    (path) => !/^\/\.well-known(?:\/|$)/.test(path),
    'This path is reserved for certificate validation. Choose another.',
  )
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
  /** State of its last DNS check; null for a local name. */
  hostState: hostStateSchema.nullable(),
  /** Reason why no server serves it; null: it is served. */
  hostConflict: hostConflictSchema.nullable(),
  createdAt: z.date(),
});
export type DomainView = z.infer<typeof domainSchema>;

export const listDomainsInputSchema = pageInputSchema.extend({ search: searchSchema.optional() });
export type ListDomainsInput = z.infer<typeof listDomainsInputSchema>;
export const domainPageSchema = countedPageSchema(domainSchema);

/** Default environment: the primary one. */
export const attachDomainInputSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema.optional(),
  host: hostSchema,
  pathPrefix: pathPrefixSchema.default('/'),
  /** Another host that its requests are redirected to (308), with path and query. Default: the app answers. */
  redirectTo: exactHostSchema.optional(),
});
export type AttachDomainInput = z.infer<typeof attachDomainInputSchema>;

export const domainRefSchema = z.object({ domainId: domainIdSchema });
export type DomainRef = z.infer<typeof domainRefSchema>;

export const domainPolicySchema = domainSchema.extend({ policy: policySchema });
export type DomainPolicyView = z.infer<typeof domainPolicySchema>;

export const updateDomainPolicyInputSchema = domainRefSchema.extend({ policy: policyInputSchema });
export type UpdateDomainPolicyInput = z.infer<typeof updateDomainPolicyInputSchema>;

/** TLS settings of a domain's host, with the authorities of client certificates as they were read. */
export const domainTlsSchema = hostPolicySchema.extend({
  authorities: z.array(z.object({ subject: z.string(), fingerprint: z.string(), notAfter: z.date() })),
});
export type DomainTls = z.infer<typeof domainTlsSchema>;

export const updateDomainTlsInputSchema = domainRefSchema.extend(hostPolicyInputSchema.shape);
export type UpdateDomainTlsInput = z.infer<typeof updateDomainTlsInputSchema>;
export const baseDomainRefSchema = z.object({ serverId: serverIdSchema });
export type BaseDomainRef = z.infer<typeof baseDomainRefSchema>;

/** Base domain of a server, below which each of its apps has a name. */
export const baseDomainSchema = z.object({
  /** Null: none. */
  baseDomain: z.string().nullable(),
  zone: z.string().nullable(),
  /**
   * Certificates of the names: one wildcard, which releases need for deployment URLs; one for each name; or those that the agent
   * issues itself for local names.
   */
  certificates: z.enum(['wildcard', 'each', 'local']),
  /** Wildcard records that lead to the server. */
  records: z.array(dnsRecordSchema),
  names: z.array(
    z.object({
      domainId: domainIdSchema,
      host: z.string(),
      appName: z.string(),
      environmentName: z.string(),
      state: hostStateSchema,
    }),
  ),
});
export type BaseDomainView = z.infer<typeof baseDomainSchema>;

export const updateBaseDomainInputSchema = baseDomainRefSchema.extend({ baseDomain: exactHostSchema.nullable() });
export type UpdateBaseDomainInput = z.infer<typeof updateBaseDomainInputSchema>;
