// Schemas of servers and enrolments in the API.

import {
  appIdSchema,
  enrolmentIdSchema,
  environmentIdSchema,
  projectIdSchema,
  serverIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { attentionFilterSchema } from '../attention/schema.ts';
import { countedPageSchema, pageInputSchema, searchSchema } from '../kernel/page.ts';
import { proxySettingsSchema } from '../traffic/schema.ts';

/** Lower-case, because it becomes part of commands and file names people type. */
export const serverNameSchema = z
  .string()
  .trim()
  .min(1, 'Give the server a name.')
  .max(40, 'A server name has at most 40 characters.')
  .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, 'A server name has lower-case letters, digits and inner dashes.');

export const serverStateSchema = z.enum(['online', 'offline', 'never_connected']);
export type ServerState = z.infer<typeof serverStateSchema>;

export const hostInfoSchema = z.object({
  hostname: z.string().default(''),
  os: z.string().default(''),
  kernel: z.string().default(''),
  arch: z.string().default(''),
  cpuCount: z.number().int().default(0),
  memoryBytes: z.number().default(0),
  diskBytes: z.number().default(0),
  isolationOff: z.array(z.string()).default([]),
});
export type HostInfoView = z.infer<typeof hostInfoSchema>;

/** Root of the authority that issues a server's certificates of local names. */
const localCaSchema = z.object({
  pem: z.string(),
  /** SHA-256 in hexadecimal pairs. */
  fingerprint: z.string(),
  notAfter: z.date(),
});
export type LocalCa = z.infer<typeof localCaSchema>;
const servedCaSchema = localCaSchema.extend({
  /** Port at which the server serves HTTPS. */
  httpsPort: z.number().int(),
});

/** Disk use of the agent's own data, in bytes, as last reported. */
export const diskSchema = z.object({
  freeBytes: z.number(),
  totalBytes: z.number(),
  artifactsBytes: z.number(),
  cachesBytes: z.number(),
  imagesBytes: z.number(),
  logsBytes: z.number(),
  volumesBytes: z.number(),
  /** When it is full at the pace of the last day; 0: not before a month from then. */
  fullUnixMs: z.number(),
  /** A whole sentence when space runs out; empty: it does not. */
  warning: z.string(),
});
export type DiskView = z.infer<typeof diskSchema>;

/** Findings at the agent's last check of the firewall of apps. */
export const serverNetworkSchema = z.object({
  /** Whole sentences: each one says why apps reach less or more than their settings allow. */
  warnings: z.array(z.string()),
  /** The last repair, as a whole sentence; null: none since the agent started. */
  repair: z.object({ text: z.string(), unixMs: z.number() }).nullable(),
});
export type ServerNetwork = z.infer<typeof serverNetworkSchema>;

export const agentTargetSchema = z.enum(['linux-x64', 'linux-arm64']);
export type AgentTarget = z.infer<typeof agentTargetSchema>;

/** Rows from before signatures have none. */
const signatureSchema = z.string().default('');

/** A program that this control plane has for servers of one kind. */
export const agentOfferSchema = z.object({
  target: agentTargetSchema,
  version: z.string(),
  /** "sha256:…" */
  digest: z.string(),
  sizeBytes: z.number(),
  /** Signature file in the format of minisign; empty: unsigned, which only agents of a development build accept. */
  signature: signatureSchema,
});
export type AgentOffer = Readonly<z.infer<typeof agentOfferSchema>>;

export const upgradeStepSchema = z.enum(['fetch', 'check', 'wait', 'start']);

/** The last request for another agent. */
export const upgradeSchema = z.object({
  /** Grows with every request of a server. */
  attempt: z.number().int().positive(),
  version: z.string(),
  digest: z.string(),
  sizeBytes: z.number(),
  signature: signatureSchema,
  state: z.enum(['running', 'succeeded', 'failed']),
  step: upgradeStepSchema,
  failureCode: z.string().nullable(),
  /** A whole sentence. */
  failureMessage: z.string().nullable(),
  requestedAt: z.date(),
  finishedAt: z.date().nullable(),
});
export type UpgradeView = z.infer<typeof upgradeSchema>;

/** Form in the server's row. */
export const storedUpgradeSchema = upgradeSchema.extend({
  requestedAt: z.coerce.date(),
  finishedAt: z.coerce.date().nullable(),
});

/** Request that the agent removes itself from its server. The server is deleted when the agent has done so. */
export const uninstallSchema = z.object({
  /** True: the volumes of apps are deleted too. */
  withData: z.boolean(),
  state: z.enum(['running', 'failed']),
  /** A whole sentence. */
  failureMessage: z.string().nullable(),
  requestedAt: z.date(),
});
export type UninstallView = z.infer<typeof uninstallSchema>;

/** Form in the server's row. */
export const storedUninstallSchema = uninstallSchema.extend({ requestedAt: z.coerce.date() });

export const serverSummarySchema = z.object({
  id: serverIdSchema,
  name: z.string(),
  isLocal: z.boolean(),
  state: serverStateSchema,
  connectedAt: z.date().nullable(),
  lastSeenAt: z.date().nullable(),
  agentVersion: z.string(),
  host: hostInfoSchema,
  /** The agent has applied the newest desired state. */
  inSync: z.boolean(),
  /** Why it refuses the newest desired state; null when it does not. */
  refusedReason: z.string().nullable(),
  clockOffsetMs: z.number().int(),
  appCount: z.number().int(),
  /** The latest sample; null when none is recent. 1000 millis = one whole core. */
  cpuMillis: z.number().nullable(),
  memoryUsedBytes: z.number().nullable(),
  memoryTotalBytes: z.number().nullable(),
  diskUsedBytes: z.number().nullable(),
  diskTotalBytes: z.number().nullable(),
  /** CPU millis of the last 30 minutes, oldest first, one number a minute. */
  cpuSparkline: z.array(z.number()),
  createdAt: z.date(),
  /** Start of its drain; null: it takes deployments. */
  drainedAt: z.date().nullable(),
  /** A whole sentence when its disk runs out; null: it does not, or it was never reported. */
  diskWarning: z.string().nullable(),
  /** Capabilities of its agent, as last reported. */
  capabilities: z.array(z.string()),
  /** Digest of its agent's program, "sha256:…"; null if the agent sends none. */
  agentDigest: z.string().nullable(),
  /** Agent that this control plane offers, if it is another program than the running one; else null. */
  offeredAgent: z.object({ version: z.string(), digest: z.string() }).nullable(),
  upgrade: upgradeSchema.nullable(),
  /** Null without a request to remove its agent. */
  uninstall: uninstallSchema.nullable(),
});
export type ServerSummary = z.infer<typeof serverSummarySchema>;

/** Public addresses of a server, IPv4 and IPv6. */
export const serverAddressesSchema = z.object({
  /** Addresses that the agent and its connection show. */
  detected: z.array(z.string()),
  /** Addresses that a member entered instead; empty: the detected ones count. */
  entered: z.array(z.string()),
});
export type ServerAddresses = z.infer<typeof serverAddressesSchema>;

export const serverDetailSchema = serverSummarySchema.extend({
  disk: diskSchema.nullable(),
  /** Null where apps share the server's network. */
  network: serverNetworkSchema.nullable(),
  /** Null before the agent's first connection, and for older agents. */
  localCa: servedCaSchema.nullable(),
  proxy: proxySettingsSchema,
  addresses: serverAddressesSchema,
  /** "epoch.number" */
  desiredVersion: z.string(),
  appliedVersion: z.string(),
  apps: z.array(
    z.object({
      id: appIdSchema,
      name: z.string(),
      slug: z.string(),
      environmentId: environmentIdSchema,
      environmentName: z.string(),
    }),
  ),
});
export type ServerDetail = z.infer<typeof serverDetailSchema>;

export const serverSortSchema = z.enum(['state', 'name', 'cpu', 'memory', 'disk', 'apps', 'last_seen']);
export type ServerSort = z.infer<typeof serverSortSchema>;

export const listServersInputSchema = z
  .object({
    cursor: pageInputSchema.shape.cursor,
    /** Default: all servers in one page. */
    limit: pageInputSchema.shape.limit.unwrap().optional(),
    /** Part of the name or host name. */
    search: searchSchema.optional(),
    state: serverStateSchema.optional(),
    drained: z.boolean().optional(),
    /** Servers on which an app of this project runs. */
    projectId: projectIdSchema.optional(),
    /** Only those that need attention. */
    attention: attentionFilterSchema.optional(),
    /** Default: by name. `state`: offline servers first. */
    sort: serverSortSchema.optional(),
    /** Default: names and states ascending, everything else descending. Servers without the value come last. */
    order: z.enum(['asc', 'desc']).optional(),
  })
  .default({});
export type ListServersInput = z.infer<typeof listServersInputSchema>;
export const serverListSchema = countedPageSchema(serverSummarySchema);

export const getServerInputSchema = z.object({ serverId: serverIdSchema });
export type GetServerInput = z.infer<typeof getServerInputSchema>;

export const updateProxyInputSchema = getServerInputSchema.extend({ proxy: proxySettingsSchema });
export type UpdateProxyInput = z.infer<typeof updateProxyInputSchema>;

const addressSchema = z.union([z.ipv4(), z.ipv6()], {
  error: 'Enter an address such as 203.0.113.7 or 2001:db8::7.',
});

export const updateAddressesInputSchema = getServerInputSchema.extend({
  /** Empty: the detected addresses count. */
  addresses: z.array(addressSchema).max(16, 'A server has at most 16 addresses.'),
});
export type UpdateAddressesInput = z.infer<typeof updateAddressesInputSchema>;

export const deleteServerInputSchema = z.object({ serverId: serverIdSchema, confirmName: z.string().max(200) });
export type DeleteServerInput = z.infer<typeof deleteServerInputSchema>;

export const uninstallServerInputSchema = deleteServerInputSchema.extend({
  /** Deletes the volumes of apps on the server too. */
  withData: z.boolean(),
});
export type UninstallServerInput = z.infer<typeof uninstallServerInputSchema>;

export const upgradeServerInputSchema = z.object({ serverId: serverIdSchema });
export type UpgradeServerInput = z.infer<typeof upgradeServerInputSchema>;

export const enrolServerInputSchema = z.object({ name: serverNameSchema });
export type EnrolServerInput = z.infer<typeof enrolServerInputSchema>;

export const enrolmentCommandSchema = z.object({
  enrolmentId: enrolmentIdSchema,
  /** One line to paste on the new server; holds the single-use token. */
  command: z.string(),
  /** SHA-256 of the certificate authority that the command pins, as browsers show it; null if it pins none. */
  caFingerprint: z.string().nullable(),
  expiresAt: z.date(),
});

export const getEnrolmentInputSchema = z.object({ enrolmentId: enrolmentIdSchema });
export type GetEnrolmentInput = z.infer<typeof getEnrolmentInputSchema>;

export const enrolmentSchema = z.object({
  enrolmentId: enrolmentIdSchema,
  name: z.string(),
  expiresAt: z.date(),
  usedAt: z.date().nullable(),
  serverId: serverIdSchema.nullable(),
  /** The new server's agent has opened its link. */
  serverConnected: z.boolean(),
});
export type EnrolmentView = z.infer<typeof enrolmentSchema>;
