// Owns how deployments are locked, read and written around a step of the machine. Whoever changes a deployment locks its
// app first, and apps in the order of their ids, so that two transactions never wait for each other in a circle.
import type { OrganizationCtx } from '../kernel/index.ts';
import type { Machine } from './machine.ts';
import { type DeploymentState, deploymentStateSchema, stepStateSchema } from './schema.ts';
import type { StepRow } from './steps.ts';

export const underWayStates: readonly DeploymentState[] = ['building', 'releasing', 'rolling_out'];

export interface DeploymentRow {
  readonly id: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly number: number;
  readonly state: DeploymentState;
  readonly releaseId: string | null;
  readonly configId: string | null;
  readonly uploadDigest: string | null;
  readonly buildServerId: string | null;
  readonly ending: string | null;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly heartbeatAt: Date | null;
  readonly deadlineAt: Date | null;
  readonly steps: readonly StepRow[];
}

const columns = {
  id: true,
  appId: true,
  environmentId: true,
  number: true,
  state: true,
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
} as const;

/** Holds the apps until the transaction ends. NO KEY: rows that point at the app may still be inserted. */
export async function lockApps(ctx: OrganizationCtx, appIds: readonly string[]): Promise<void> {
  await ctx.tx.$queryRaw`
    SELECT id FROM app WHERE organization_id = ${ctx.organizationId} AND id = ANY(${[...appIds]})
    ORDER BY id FOR NO KEY UPDATE`;
}

/** Null when the organization has none of that id. */
export async function findDeployment(ctx: OrganizationCtx, id: string): Promise<DeploymentRow | null> {
  const row = await ctx.tx.deployment.findFirst({ where: { id, organizationId: ctx.organizationId }, select: columns });
  return row === null ? null : toRow(row);
}

export async function findUnfinished(
  ctx: OrganizationCtx,
  where: { readonly appId: string | { in: string[] }; readonly environmentId?: string },
  states: readonly DeploymentState[],
): Promise<DeploymentRow[]> {
  const rows = await ctx.tx.deployment.findMany({
    where: { organizationId: ctx.organizationId, ...where, state: { in: [...states] } },
    select: columns,
    orderBy: [{ queuedAt: 'asc' }, { id: 'asc' }],
  });
  return rows.map(toRow);
}

export function machineOf(row: DeploymentRow): Machine {
  const { state, heartbeatAt, deadlineAt } = row;
  return { state, needsBuild: row.releaseId === null, heartbeatAt, deadlineAt };
}

interface RawRow extends Omit<DeploymentRow, 'state' | 'steps'> {
  readonly state: string;
  readonly steps: readonly { name: string; state: string; startedAt: Date | null; finishedAt: Date | null }[];
}

function toRow(row: RawRow): DeploymentRow {
  return {
    ...row,
    state: deploymentStateSchema.parse(row.state),
    steps: row.steps.map((each) => ({ ...each, state: stepStateSchema.parse(each.state) })),
  };
}
