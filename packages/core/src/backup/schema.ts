// Schemas of backups, for the control plane page.
import { backupIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';

export const backupStateSchema = z.enum(['queued', 'running', 'succeeded', 'failed', 'interrupted']);

export const backupSchema = z.object({
  id: backupIdSchema,
  /** False if a person started it. */
  isScheduled: z.boolean(),
  state: backupStateSchema,
  createdAt: z.date(),
  finishedAt: z.date().nullable(),
  dataFile: z.string().nullable(),
  keysFile: z.string().nullable(),
  sizeBytes: z.number().nullable(),
  failure: z.string().nullable(),
});
export type Backup = z.infer<typeof backupSchema>;

export const backupsSchema = z.object({
  /** Folder of scheduled backups; null if none is set. */
  folder: z.string().nullable(),
  /** Number of backups that stay in the folder. */
  keep: z.number().int(),
  /** Null without a schedule. */
  next: z.date().nullable(),
  /** Newest first. */
  latest: z.array(backupSchema),
  lastSucceeded: backupSchema.nullable(),
});
export type Backups = z.infer<typeof backupsSchema>;

export const backupWarningSchema = z.object({
  kind: z.enum(['backup_failed', 'backup_overdue']),
  title: z.string(),
  detail: z.string(),
});
export type BackupWarning = z.infer<typeof backupWarningSchema>;
