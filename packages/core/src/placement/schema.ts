// Schemas of placements in the API: an app in one of its environments, and its servers there.
import { appIdSchema, environmentIdSchema, serverIdSchema, volumeMoveIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';

/** An app in one of its environments; default: its primary environment. */
export const placementInputSchema = z.object({ appId: appIdSchema, environmentId: environmentIdSchema.optional() });
export type PlacementInput = z.infer<typeof placementInputSchema>;

export const placementRefSchema = z.object({ appId: appIdSchema, environmentId: environmentIdSchema });
export type PlacementRef = z.infer<typeof placementRefSchema>;

export const placementServerInputSchema = placementInputSchema.extend({ serverId: serverIdSchema });
export type PlacementServerInput = z.infer<typeof placementServerInputSchema>;

export const placementServerRefSchema = placementRefSchema.extend({ serverId: serverIdSchema });
export type PlacementServerRef = z.infer<typeof placementServerRefSchema>;

export const serverDrainInputSchema = z.object({
  serverId: serverIdSchema,
  /** Lets apps with volumes leave: their data stays behind on the server. Default: false. */
  leaveVolumes: z.boolean().optional(),
});
export type ServerDrainInput = z.infer<typeof serverDrainInputSchema>;

export const drainServerInputSchema = serverDrainInputSchema.extend({ drained: z.boolean() });
export type DrainServerInput = z.infer<typeof drainServerInputSchema>;

/** Reason why an app can't leave a drained server yet. */
export const stayReasonSchema = z.enum([
  'only_here',
  'not_live_elsewhere',
  'offline_elsewhere',
  'under_way',
  'volumes',
]);
export type StayReason = z.infer<typeof stayReasonSchema>;

const appOfServerSchema = placementRefSchema.extend({
  slug: z.string(),
  name: z.string(),
  environmentName: z.string(),
});
export type BuildingApp = z.infer<typeof appOfServerSchema>;

export const serverDrainSchema = z.object({
  /** Null: the server takes deployments. */
  drainedAt: z.date().nullable(),
  drainedBy: z.string().nullable(),
  /** Apps that run on the server. */
  apps: z.array(
    appOfServerSchema.extend({
      /** Hosts of its domains there: their DNS records must leave the server with it. */
      hosts: z.array(z.string()),
      hasVolumes: z.boolean(),
      /** Volumes that a move would copy from the server. */
      volumes: z.array(
        z.object({
          name: z.string(),
          /** Last report of the server; null: none yet. */
          usedBytes: z.number().int().nullable(),
          /** Time of the newest snapshot of the server's volume. */
          snapshotAt: z.date().nullable(),
        }),
      ),
      /** The move that takes the app from the server with its volumes. */
      move: volumeMoveIdSchema.nullable(),
      /** Null: it can leave, because it also runs elsewhere. */
      stays: stayReasonSchema.nullable(),
    }),
  ),
  /** Apps that the server only builds. */
  builds: z.array(appOfServerSchema),
});
export type ServerDrain = z.infer<typeof serverDrainSchema>;

/** Maximum number of copies of one app that an agent runs. */
const instancesMax = 64;

export const scaleAppInputSchema = placementInputSchema.extend({
  instances: z.number().int().min(1).max(instancesMax),
});
export type ScaleAppInput = z.infer<typeof scaleAppInputSchema>;

/** While deploys are paused, only people deploy. */
export const pauseDeploysInputSchema = placementInputSchema.extend({ paused: z.boolean() });
export type PauseDeploysInput = z.infer<typeof pauseDeploysInputSchema>;
export const pauseDeploysOutputSchema = z.object({ appId: appIdSchema, paused: z.boolean() });
export type PausedDeploys = z.infer<typeof pauseDeploysOutputSchema>;
