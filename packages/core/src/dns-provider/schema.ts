// Schemas of DNS providers. Tokens and keys go in and never come out.
import { dnsProviderIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';

export const dnsProviderKindSchema = z.enum(['cloudflare', 'digitalocean', 'hetzner', 'rfc2136', 'route53']);
export type DnsProviderKind = z.infer<typeof dnsProviderKindSchema>;

const word = (max: number, message: string) =>
  z
    .string()
    .trim()
    .min(1, message)
    .max(max)
    .regex(/^[\x21-\x7e]+$/, 'This has only letters, digits and signs, without spaces.');

const name = z
  .string()
  .trim()
  .toLowerCase()
  .max(253)
  .regex(
    /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'Enter a name such as example.com.',
  );
const zone = name.refine((value) => value.includes('.'), 'Enter a name such as example.com.');

const token = word(500, 'Enter the API token.');

/** Fields of the credentials that are not secret, by kind. */
export const dnsProviderSettingsSchema = z.object({
  /** Route 53 only. */
  accessKeyId: z.string().default(''),
  /** RFC 2136 only. */
  server: z.string().default(''),
  keyName: z.string().default(''),
  algorithm: z.enum(['hmac-sha256', 'hmac-sha384', 'hmac-sha512']).default('hmac-sha256'),
});
export type DnsProviderSettings = z.infer<typeof dnsProviderSettingsSchema>;

export const dnsCredentialsSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['cloudflare', 'digitalocean', 'hetzner']), token }),
  z.object({
    kind: z.literal('route53'),
    accessKeyId: word(128, 'Enter the access key ID.'),
    secretAccessKey: word(256, 'Enter the secret access key.'),
  }),
  z.object({
    kind: z.literal('rfc2136'),
    server: z
      .string()
      .trim()
      .toLowerCase()
      .max(300)
      .regex(
        /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/,
        'Enter the primary name server, such as ns1.example.com. Add the port if it is not 53.',
      ),
    keyName: name,
    algorithm: dnsProviderSettingsSchema.shape.algorithm,
    secret: z
      .string()
      .trim()
      .min(1, 'Enter the key.')
      .max(500)
      .regex(/^[A-Za-z0-9+/]+={0,2}$/, 'Enter the key in base64, as in the configuration of the name server.'),
  }),
]);
export type DnsCredentials = z.infer<typeof dnsCredentialsSchema>;

const zones = z
  .array(zone)
  .min(1, 'Enter at least one zone.')
  .max(100)
  .transform((names) => [...new Set(names)].sort());

export const dnsProviderSchema = z.object({
  id: dnsProviderIdSchema,
  kind: dnsProviderKindSchema,
  zones: z.array(z.string()),
  settings: dnsProviderSettingsSchema,
  /** True: every host of the zones is proven by DNS. False: only wildcards, and hosts that can't be reached otherwise. */
  preferred: z.boolean(),
  createdAt: z.date(),
});
export type DnsProviderView = z.infer<typeof dnsProviderSchema>;
export const dnsProviderListSchema = z.object({ items: z.array(dnsProviderSchema) });

export const createDnsProviderInputSchema = z.object({
  zones,
  preferred: z.boolean().default(false),
  credentials: dnsCredentialsSchema,
});
export type CreateDnsProviderInput = z.infer<typeof createDnsProviderInputSchema>;

export const dnsProviderRefSchema = z.object({ dnsProviderId: dnsProviderIdSchema });
export type DnsProviderRef = z.infer<typeof dnsProviderRefSchema>;

/** Credentials stay what they are if absent; their kind never changes. */
export const updateDnsProviderInputSchema = dnsProviderRefSchema.extend({
  zones: zones.optional(),
  preferred: z.boolean().optional(),
  credentials: dnsCredentialsSchema.optional(),
});
export type UpdateDnsProviderInput = z.infer<typeof updateDnsProviderInputSchema>;

/** One line for each zone; a null failure means that a record could be set and removed. */
export const dnsProviderCheckSchema = z.object({
  items: z.array(z.object({ zone: z.string(), failure: z.string().nullable() })),
});
export type DnsProviderCheck = z.infer<typeof dnsProviderCheckSchema>;
