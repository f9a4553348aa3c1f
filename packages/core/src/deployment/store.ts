// Locks, reads and writes deployments around a transition of the state machine.
// Invariant: a transaction locks the app before its deployments, and apps in the order of their ids, so that two never
// deadlock.
import { findNewestConfig, loadSettings, type Settings } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { PlacementServer } from '../placement/index.ts';
import { type Origin, originSchema } from '../release/index.ts';
import { limitsOf } from './build-slots.ts';
import type { Machine, ServerRoll, Target } from './machine.ts';
import { type DeploymentState, deploymentStateSchema, serverRolloutStateSchema, stepStateSchema } from './schema.ts';
import type { StepRow } from './steps.ts';

export interface RollRow extends ServerRoll {
  readonly position: number;
  /** Names the way back to the server. */
  readonly revertId: string | null;
}

export interface DeploymentRow {
  readonly id: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly number: number;
  readonly state: DeploymentState;
  readonly queuedAt: Date;
  /** Empty: the repository's default branch. */
  readonly ref: string;
  readonly origin: Origin;
  readonly releaseId: string | null;
  readonly configId: string | null;
  readonly uploadDigest: string | null;
  readonly buildServerId: string | null;
  readonly ending: 'failed' | 'cancelled' | null;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly heartbeatAt: Date | null;
  readonly deadlineAt: Date | null;
  readonly steps: readonly StepRow[];
  /** The first server first. */
  readonly servers: readonly RollRow[];
}

const columns = {
  id: true,
  appId: true,
  environmentId: true,
  number: true,
  state: true,
  queuedAt: true,
  ref: true,
  origin: true,
  releaseId: true,
  configId: true,
  uploadDigest: true,
  buildServerId: true,
  ending: true,
  failureCode: true,
  failureMessage: true,
  heartbeatAt: true,
  deadlineAt: true,
  steps: { select: { name: true, state: true, startedAt: true, finishedAt: true }, orderBy: { position: 'asc' } },
  servers: { orderBy: { position: 'asc' } },
} as const;

/** Null if the organization has no deployment with that id. */
export async function findDeployment(ctx: OrganizationCtx, id: string): Promise<DeploymentRow | null> {
  const row = await ctx.tx.deployment.findFirst({ where: { id, organizationId: ctx.organizationId }, select: columns });
  return row === null ? null : toRow(row);
}

export async function findUnfinished(
  ctx: OrganizationCtx,
  where: {
    readonly id?: { in: string[] };
    readonly appId?: string | { in: string[] };
    readonly environmentId?: string;
  },
  states: readonly DeploymentState[],
): Promise<DeploymentRow[]> {
  const rows = await ctx.tx.deployment.findMany({
    where: { organizationId: ctx.organizationId, ...where, state: { in: [...states] } },
    select: columns,
    orderBy: [{ queuedAt: 'asc' }, { id: 'asc' }],
  });
  return rows.map(toRow);
}

export interface LoadedMachine {
  readonly machine: Machine;
  readonly settings: Settings;
}

/** Loads the machine with its settings: of its release, of its build, or the newest ones while it waits. */
export async function loadMachine(ctx: OrganizationCtx, row: DeploymentRow): Promise<LoadedMachine> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId } = row;
  const release =
    row.releaseId === null
      ? null
      : await tx.release.findFirst({
          where: { id: row.releaseId, organizationId },
          select: { configId: true, plan: true },
        });
  const settings =
    release !== null
      ? await loadSettings(ctx, release.configId)
      : row.state === 'queued'
        ? (await findNewestConfig(ctx, row)).settings
        : await loadSettings(ctx, row.configId);
  const placement = await tx.placement.findFirst({
    where: { appId, environmentId, organizationId },
    select: { instances: true },
  });
  const { state, ending, heartbeatAt, deadlineAt } = row;
  return {
    settings,
    machine: {
      state,
      ending,
      heartbeatAt,
      deadlineAt,
      needsBuild: row.releaseId === null,
      hasReleaseCommand: settings.releaseCommand !== null,
      hasPostReleaseCommand: settings.postReleaseCommand !== null,
      limits: limitsOf(settings, placement?.instances ?? 1),
      rolls: row.servers,
    },
  };
}

interface RawRow extends Omit<DeploymentRow, 'state' | 'ending' | 'origin' | 'steps' | 'servers'> {
  readonly state: string;
  readonly ending: string | null;
  readonly origin: unknown;
  readonly steps: readonly { name: string; state: string; startedAt: Date | null; finishedAt: Date | null }[];
  readonly servers: readonly (Omit<RollRow, 'state'> & { readonly state: string })[];
}

function toRow(row: RawRow): DeploymentRow {
  return {
    ...row,
    state: deploymentStateSchema.parse(row.state),
    origin: originSchema.parse(row.origin),
    ending: row.ending === 'failed' || row.ending === 'cancelled' ? row.ending : null,
    steps: row.steps.map((each) => ({ ...each, state: stepStateSchema.parse(each.state) })),
    servers: row.servers.map(
      ({ serverId, position, formerReleaseId, revertId, heartbeatAt, deadlineAt, failureMessage, state }) => ({
        serverId,
        position,
        formerReleaseId,
        revertId,
        heartbeatAt,
        deadlineAt,
        failureMessage,
        state: serverRolloutStateSchema.parse(state),
      }),
    ),
  };
}

/** Returns the target servers of a release: every server of the app in that environment, the first one first. */
export function toTargets(servers: readonly PlacementServer[]): Target[] {
  return servers.map(({ serverId, liveReleaseId }) => ({ serverId, formerReleaseId: liveReleaseId }));
}
