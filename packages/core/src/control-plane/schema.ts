// Schemas of the control plane page: the state of this control plane, for the people who operate it.

import { backupIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { backupsSchema, backupWarningSchema } from '../backup/schema.ts';
import { updateOverviewSchema } from '../fairlead-update/schema.ts';

export const diskSchema = z.object({
  /** Folder on the disk. */
  path: z.string(),
  freeBytes: z.number(),
  totalBytes: z.number(),
  /** Bytes that uploads and logs leave free. */
  reserveBytes: z.number(),
});

export const jobCountSchema = z.object({
  name: z.string(),
  waiting: z.number().int(),
  running: z.number().int(),
  failed: z.number().int(),
  oldestWaiting: z.date().nullable(),
});

export const failedJobSchema = z.object({
  id: z.string(),
  name: z.string(),
  attempts: z.number().int(),
  error: z.string(),
  failedAt: z.date(),
});

/** Problem of the control plane with what to do about it. */
const diskWarningSchema = z.object({ kind: z.enum(['disk_short']), title: z.string(), detail: z.string() });
export const warningSchema = z.union([diskWarningSchema, backupWarningSchema]);
export type ControlPlaneWarning = z.infer<typeof warningSchema>;

/** A newer version, which is no problem. */
const updateNoticeSchema = z.object({ kind: z.enum(['update_available']), title: z.string(), detail: z.string() });
export const noticeSchema = z.union([warningSchema, updateNoticeSchema]);
export type ControlPlaneNotice = z.infer<typeof noticeSchema>;

export const controlPlaneSchema = z.object({
  warnings: z.array(warningSchema),
  addresses: z.object({
    publicUrl: z.string(),
    agentUrl: z.string(),
    /** Addresses with ports on which the processes listen with plain http. */
    webListen: z.string(),
    gatewayListen: z.string(),
    trustedProxies: z.array(z.string()),
    /** Address of the reader as the control plane sees it; null if it is unknown. */
    clientAddress: z.string().nullable(),
  }),
  /** Null without a mail server. */
  mail: z.object({ from: z.string() }).nullable(),
  versions: z.object({
    controlPlane: z.string(),
    node: z.string(),
    postgres: z.string(),
    offeredAgents: z.array(z.object({ target: z.string(), version: z.string() })),
    /** Agents of all servers that have connected, by version. */
    agents: z.array(z.object({ version: z.string(), servers: z.number().int() })),
  }),
  updates: updateOverviewSchema,
  backups: backupsSchema,
  jobs: z.object({
    counts: z.array(jobCountSchema),
    /** Latest failed jobs. */
    failed: z.array(failedJobSchema),
  }),
  storage: z.object({
    disks: z.array(diskSchema),
    logsBytes: z.number(),
    artifactsBytes: z.number(),
    databaseBytes: z.number(),
  }),
});
export type ControlPlaneState = z.infer<typeof controlPlaneSchema>;

export const retryJobInputSchema = z.object({ jobId: z.string().regex(/^\d{1,18}$/) });
export type RetryJobInput = z.infer<typeof retryJobInputSchema>;

export const startedBackupSchema = z.object({ backupId: backupIdSchema });

/** `failure` is what the mail server answered; null if it took the mail. */
export const testMailSchema = z.object({ to: z.string(), failure: z.string().nullable() });
