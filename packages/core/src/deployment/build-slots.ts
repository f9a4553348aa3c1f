// Build slots, which limit concurrent builds, and the deadlines of a deployment's phases. A build takes memory and
// cores that apps on the same server need.
import { type BuildSlots, defaultOf } from '@fairlead/settings';
import { gateLoadMs, type Settings } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type Limits, slackMs } from './machine.ts';

export type { BuildSlots };

/** Time that an agent waits for other measurements before it gives a benchmark gate up. */
const gateWaitMs = 10 * 60_000;

export const defaultBuildSlots: BuildSlots = {
  perServer: defaultOf('FAIRLEAD_BUILDS_PER_SERVER'),
  perOrganization: defaultOf('FAIRLEAD_BUILDS_PER_ORGANIZATION'),
};

export interface TakenSlots {
  readonly builds: number;
  readonly of: 'server' | 'organization';
}

/** Null: there is room for one more. `except` is not counted. */
export async function findTakenSlots(
  ctx: OrganizationCtx,
  { serverId, except }: { readonly serverId: string; readonly except: string },
  slots: BuildSlots,
): Promise<TakenSlots | null> {
  const where = { organizationId: ctx.organizationId, state: 'building', NOT: { id: except } };
  const onServer = await ctx.tx.deployment.count({ where: { ...where, buildServerId: serverId } });
  if (onServer >= slots.perServer) return { builds: onServer, of: 'server' };
  const all = await ctx.tx.deployment.count({ where });
  return all >= slots.perOrganization ? { builds: all, of: 'organization' } : null;
}

/** Locks the organization's build slots until the transaction ends, so that two builds never take the last one. */
export async function lockSlots(ctx: OrganizationCtx): Promise<void> {
  await ctx.tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`builds of ${ctx.organizationId}`}, 0))`;
}

/**
 * Derives the deadlines from the limits that a server is given. An agent that respects its limits never meets them.
 */
export function limitsOf(settings: Settings, instances: number): Limits {
  const { rollout, benchmarkGate, startTimeoutMs, drainTimeoutMs, stopTimeoutMs, releaseCommand, postReleaseCommand } =
    settings;
  const turns = rollout.kind === 'rolling' ? Math.ceil(instances / rollout.batchSize) : 1;
  const canaryMs = rollout.kind === 'canary' ? rollout.stepPercents.length * rollout.stepDurationMs : 0;
  const gateMs = benchmarkGate === null ? 0 : gateLoadMs(benchmarkGate) + gateWaitMs + startTimeoutMs;
  const turnMs = startTimeoutMs + drainTimeoutMs + stopTimeoutMs;
  return {
    buildMs: settings.buildTimeoutMs + slackMs,
    rolloutMs:
      2 * slackMs +
      turns * turnMs +
      canaryMs +
      gateMs +
      (releaseCommand?.timeoutMs ?? 0) +
      (postReleaseCommand?.timeoutMs ?? 0),
  };
}
