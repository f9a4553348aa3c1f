// Schemas of agent rollouts in the API: the upgrade of all agents of an organization in waves.
import { agentRolloutIdSchema, serverIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { upgradeStepSchema } from '../server/schema.ts';

/** `skipped`: it ended without a server that runs the offered program. */
export const agentRolloutStateSchema = z.enum(['running', 'stopped', 'succeeded', 'skipped', 'cancelled']);

/** Reason why a rollout skips a server. `current`: it already runs the offered program. */
export const leftOutReasonSchema = z.enum(['offline', 'unsupported', 'no_program', 'current']);
export type LeftOutReason = z.infer<typeof leftOutReasonSchema>;

export const serverProgressSchema = z.enum(['waiting', 'upgrading', 'upgraded', 'failed']);
export type ServerProgress = z.infer<typeof serverProgressSchema>;

const serverRefSchema = z.object({ id: serverIdSchema, name: z.string() });
const leftOutSchema = serverRefSchema.extend({ reason: leftOutReasonSchema });

/** An upgrade of all agents that could start now. */
export const availableRolloutSchema = z.object({
  version: z.string(),
  /** Servers of each wave; none is empty. */
  waves: z.array(z.array(serverRefSchema)),
  leftOut: z.array(leftOutSchema),
});
export type AvailableRollout = z.infer<typeof availableRolloutSchema>;

export const agentRolloutSchema = z.object({
  id: agentRolloutIdSchema,
  version: z.string(),
  state: agentRolloutStateSchema,
  /** Number of the current wave; 0 before the first. */
  wave: z.number().int(),
  waveCount: z.number().int(),
  /** Servers that take part, in the order of their waves; `wave` is null until it starts. */
  servers: z.array(
    serverRefSchema.extend({
      wave: z.number().int().nullable(),
      progress: serverProgressSchema,
      /** Step of a running upgrade. */
      step: upgradeStepSchema.nullable(),
    }),
  ),
  leftOut: z.array(leftOutSchema),
  /** Name of the server that stopped it; null if it runs, or if the server was removed. */
  failedServer: z.string().nullable(),
  /** A whole sentence that says why it stopped. */
  reason: z.string().nullable(),
  /** False if this control plane now offers other programs. */
  isOffered: z.boolean(),
  requestedBy: z.string().nullable(),
  createdAt: z.date(),
  finishedAt: z.date().nullable(),
});
export type AgentRolloutView = z.infer<typeof agentRolloutSchema>;

export const agentRolloutOverviewSchema = z.object({
  /** The one that runs or has stopped, or that ended within the last hour. */
  rollout: agentRolloutSchema.nullable(),
  /** Null: no agent can be upgraded from here, or a rollout runs. */
  available: availableRolloutSchema.nullable(),
});
export type AgentRolloutOverview = z.infer<typeof agentRolloutOverviewSchema>;

export const agentRolloutRefSchema = z.object({ rolloutId: agentRolloutIdSchema });
export type AgentRolloutRef = z.infer<typeof agentRolloutRefSchema>;
