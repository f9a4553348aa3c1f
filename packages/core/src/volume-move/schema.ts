// Schemas of moves of apps to another server.
import {
  appIdSchema,
  deploymentIdSchema,
  environmentIdSchema,
  serverIdSchema,
  volumeMoveIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';

export const moveAppsInputSchema = z.object({
  serverId: serverIdSchema,
  targetServerId: serverIdSchema,
  /**
   * Moves apps with volumes too, with copies of them. Each app is down while its volumes are copied. If the server is
   * offline, the newest snapshots stand for its volumes. Default: false.
   */
  copyVolumes: z.boolean().optional(),
  /** Moves apps whose volumes are not copied too: they start with empty ones, and their data stays behind. Default: false. */
  leaveVolumes: z.boolean().optional(),
});
export type MoveAppsInput = z.infer<typeof moveAppsInputSchema>;

export const movedAppsSchema = z.object({
  /** `deploymentId` is null for an app that was never live, and for one whose volumes are copied first. */
  items: z.array(
    z.object({
      appId: appIdSchema,
      environmentId: environmentIdSchema,
      deploymentId: deploymentIdSchema.nullable(),
      /** The move that copies its volumes. */
      moveId: volumeMoveIdSchema.nullable(),
    }),
  ),
});
export type MovedApps = z.infer<typeof movedAppsSchema>;

export const moveStateSchema = z.enum(['copying', 'restoring', 'deploying', 'succeeded', 'failed', 'cancelled']);
export type MoveState = z.infer<typeof moveStateSchema>;
/** In these states the app is down, or starts on the new server. */
export const activeMoveStates = ['copying', 'restoring', 'deploying'] as const satisfies readonly MoveState[];

export const volumeMoveRefSchema = z.object({ moveId: volumeMoveIdSchema });
export type VolumeMoveRef = z.infer<typeof volumeMoveRefSchema>;

export const listMovesInputSchema = z.object({ serverId: serverIdSchema });
export type ListMovesInput = z.infer<typeof listMovesInputSchema>;

export const volumeMoveSchema = volumeMoveRefSchema.extend({
  appId: appIdSchema,
  slug: z.string(),
  name: z.string(),
  environmentId: environmentIdSchema,
  environmentName: z.string(),
  sourceServerId: serverIdSchema,
  /** Null: the server was removed. */
  sourceName: z.string().nullable(),
  targetServerId: serverIdSchema,
  targetName: z.string().nullable(),
  state: moveStateSchema,
  isFromSnapshots: z.boolean(),
  isCancelled: z.boolean(),
  volumes: z.array(
    z.object({
      name: z.string(),
      state: z.enum(['running', 'done', 'failed']),
      /** Step of its server: wait, pack, upload, fetch or unpack. */
      step: z.string().nullable(),
      sizeBytes: z.number().int().nullable(),
      /** Time of the snapshot. */
      takenAt: z.date().nullable(),
    }),
  ),
  deploymentId: deploymentIdSchema.nullable(),
  failureMessage: z.string().nullable(),
  createdAt: z.date(),
  finishedAt: z.date().nullable(),
  /** When the server that the app has left deletes its volumes; null: they stay. */
  deleteLeftAt: z.date().nullable(),
});
export type VolumeMoveView = z.infer<typeof volumeMoveSchema>;
export const volumeMoveListSchema = z.object({ items: z.array(volumeMoveSchema) });
export type VolumeMoveList = z.infer<typeof volumeMoveListSchema>;
