// Schemas of host names: the DNS records to set, the state of the last check, and the proof of ownership.
import { domainIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';

export const hostStateSchema = z.enum([
  /** Not checked yet. */
  'pending',
  /** The DNS servers did not answer. */
  'check_failed',
  'not_resolving',
  /** No public address of its servers is known. */
  'address_unknown',
  'resolves_elsewhere',
  'proxied',
  /** Some servers or addresses are missing. */
  'partial',
  'caa_blocks',
  'port_closed',
  /** Another program than the proxy answers. */
  'port_taken',
  'ready',
]);
export type HostState = z.infer<typeof hostStateSchema>;

export const portFindingSchema = z.object({
  address: z.string(),
  port: z.union([z.literal(80), z.literal(443)]),
  /** `none`: nothing answers. `other`: something answers that is not a proxy of the organization. */
  answer: z.enum(['proxy', 'other', 'none']),
});
export type PortFinding = z.infer<typeof portFindingSchema>;

/** Findings of a check, stored as they were seen. Their meaning depends on the current servers. */
export const findingsSchema = z.object({
  /** A and AAAA records, at the end of all aliases. */
  addresses: z.array(z.string()),
  /** Names that the host is an alias of, in order. */
  aliases: z.array(z.string()),
  /** Name that `_acme-challenge` of the host is an alias of; null: it is none. */
  challengeAlias: z.string().nullable(),
  /** The nearest CAA records, and whether they allow the certificate authority; null: none, or no authority is configured. */
  caa: z.object({ name: z.string(), issuers: z.array(z.string()), allows: z.boolean() }).nullable(),
  /** Ports that the control plane checked; an address without an entry was not checked. */
  ports: z.array(portFindingSchema),
  /** DNS error code if the servers did not answer; null: they did. */
  failure: z.string().nullable(),
});
export type Findings = z.infer<typeof findingsSchema>;

export const dnsRecordSchema = z.object({
  type: z.enum(['A', 'AAAA', 'CNAME', 'TXT']),
  /** Name relative to the zone; `@`: the zone itself. */
  name: z.string(),
  fullName: z.string(),
  value: z.string(),
  ttlSeconds: z.number().int(),
  /** Server that the record leads to; null for a record that leads to none. */
  serverName: z.string().nullable(),
  /** The last check saw it; null: not checked yet. */
  isSet: z.boolean().nullable(),
});
export type DnsRecord = z.infer<typeof dnsRecordSchema>;

export const hostConflictSchema = z.enum(['proven', 'claimed']);
export type HostConflict = z.infer<typeof hostConflictSchema>;

export const hostRefSchema = z.object({ domainId: domainIdSchema });
export type HostRef = z.infer<typeof hostRefSchema>;

export const hostViewSchema = z.object({
  host: z.string(),
  /** Registrable domain, whose DNS zone has the records. */
  zone: z.string(),
  /** The host is the zone itself, where no CNAME is allowed. */
  isApex: z.boolean(),
  /** A and AAAA records. */
  records: z.array(dnsRecordSchema),
  /** Record that replaces them: an alias of the app's name below the base domain. Null where that leads elsewhere, or at an apex. */
  aliasRecord: dnsRecordSchema.nullable(),
  state: hostStateSchema,
  found: findingsSchema.nullable(),
  /** Found addresses that belong to no server of the app. */
  foreignAddresses: z.array(z.string()),
  /** Records that no lookup found. */
  missingAddresses: z.array(z.string()),
  /** CDN that the host leads to; null if none is known. */
  cdn: z.string().nullable(),
  /** Servers without a known public address. */
  serversWithoutAddress: z.array(z.string()),
  /** False: the control plane shares the server's address or may not call it, so ports were not checked. */
  arePortsChecked: z.boolean(),
  checkedAt: z.date().nullable(),
  nextCheckAt: z.date(),
  ownership: z.object({
    /** TXT record that proves the name. */
    record: dnsRecordSchema,
    /** When the proof was seen; null: it was not. */
    provenAt: z.date().nullable(),
    /** Reason why the host is not served; null: it is. */
    conflict: hostConflictSchema.nullable(),
  }),
});
export type HostView = z.infer<typeof hostViewSchema>;

/** Null for a local name, such as `shop.localhost`. */
export const hostResultSchema = hostViewSchema.nullable();

export const hostTransferSchema = z.object({
  /** Name that the transfer is about, with all names below it. */
  name: z.string(),
  /** Appears in no later answer. */
  code: z.string(),
  expiresAt: z.date(),
});
export type HostTransfer = z.infer<typeof hostTransferSchema>;

export const acceptHostInputSchema = hostRefSchema.extend({ code: z.string().trim().min(1).max(200) });
