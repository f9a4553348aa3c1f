// Schemas of volumes in the API.
import {
  appIdSchema,
  environmentIdSchema,
  serverIdSchema,
  volumeIdSchema,
  volumeTaskIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';

/** Delay before the deletion, in which it can be cancelled. */
export const volumeDelayMs = 7 * 24 * 60 * 60_000;

export const volumeSchema = z.object({
  id: volumeIdSchema,
  name: z.string(),
  appId: appIdSchema,
  environmentId: environmentIdSchema,
  /** App and environment by name; both may be deleted. */
  label: z.string(),
  /** Last report of each server. */
  used: z.array(z.object({ serverId: serverIdSchema, usedBytes: z.number().int() })),
  usedBytes: z.number().int(),
  reportedAt: z.date().nullable(),
  createdAt: z.date(),
  /** When its servers delete it; null: it stays. */
  deleteAt: z.date().nullable(),
  /** The newest settings or the live release still name it. */
  inUse: z.boolean(),
  /** True if its app left its environment, or either was deleted: no page of the app shows it there. */
  isLeft: z.boolean(),
});
export type VolumeView = z.infer<typeof volumeSchema>;

/** Without an app: all of the organization, also of deleted apps. */
export const listVolumesInputSchema = z.object({
  appId: appIdSchema.optional(),
  environmentId: environmentIdSchema.optional(),
});
export type ListVolumesInput = z.infer<typeof listVolumesInputSchema>;
export const volumeListSchema = z.object({ items: z.array(volumeSchema) });
export type VolumeList = z.infer<typeof volumeListSchema>;

export const volumeRefSchema = z.object({ volumeId: volumeIdSchema });
export type VolumeRef = z.infer<typeof volumeRefSchema>;

export const deleteVolumeInputSchema = volumeRefSchema.extend({ confirmName: z.string().max(200) });
export type DeleteVolumeInput = z.infer<typeof deleteVolumeInputSchema>;
export const deletedVolumeSchema = volumeRefSchema.extend({ deleteAt: z.date() });
export type DeletedVolume = z.infer<typeof deletedVolumeSchema>;

export const snapshotSchema = z.object({
  snapshotId: volumeTaskIdSchema,
  serverId: serverIdSchema,
  /** Null: the server was removed. */
  serverName: z.string().nullable(),
  reason: z.enum(['schedule', 'manual']),
  state: z.enum(['running', 'stored', 'failed']),
  /** Step of the server: wait, pack or upload. */
  step: z.string().nullable(),
  sizeBytes: z.number().int().nullable(),
  failureMessage: z.string().nullable(),
  createdAt: z.date(),
});
export type SnapshotView = z.infer<typeof snapshotSchema>;
export const snapshotListSchema = z.object({ items: z.array(snapshotSchema) });
export type SnapshotList = z.infer<typeof snapshotListSchema>;
