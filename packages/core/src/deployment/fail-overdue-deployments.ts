// Finds deployments past their deadline or with a lost lease. System scope.
import { parseId } from '@fairlead/contract/ids';
import { forOrganization, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import { isConnected } from '../server/index.ts';
import { applyStep, enqueueAdvance } from './apply-step.ts';
import { auditDeployment } from './audit-deployment.ts';
import { isFinished, step } from './machine.ts';
import { type DeploymentRow, findDeployment, loadMachine } from './store.ts';

/** A job that was enqueued with the deployment has run long before; later than that, it was lost with its worker. */
const queueSilenceMs = 15_000;
const batchMax = 200;

/** Fails what its server did not finish in time, and sets going again what no worker holds any more. */
export async function failOverdueDeployments(ctx: SystemCtx): Promise<{ failed: number; resumed: number }> {
  const now = ctx.clock.now();
  const overdue = await ctx.tx.$queryRaw<{ id: string; organizationId: string; appId: string }[]>`
    SELECT id, organization_id AS "organizationId", app_id AS "appId" FROM deployment
    WHERE state IN ('building', 'releasing', 'rolling_out') AND deadline_at <= ${now}
    ORDER BY deadline_at LIMIT ${batchMax}`;
  // Locks all apps before any server's row: a report locks apps first, then its server.
  const appIds = overdue.map(({ appId }) => appId);
  await ctx.tx.$queryRaw`SELECT id FROM app WHERE id = ANY(${appIds}) ORDER BY id FOR NO KEY UPDATE`;
  let failed = 0;
  for (const due of overdue) {
    const scoped = forOrganization(ctx, parseId('org', due.organizationId));
    const row = await findDeployment(scoped, due.id);
    if (row === null) continue;
    const { machine } = await loadMachine(scoped, row);
    const offline = await findOffline(scoped, row);
    const event = { kind: 'overdue', offline, buildServerId: row.buildServerId } as const;
    const result = step(machine, event, now);
    if (result.machine === machine) continue;
    await applyStep(scoped, row, result);
    if (!isFinished(result.machine.state)) continue;
    await auditDeployment(
      { ...scoped, actor: { kind: 'system', reason: 'a deployment was overdue' } },
      'deployment.fail',
      {
        id: row.id,
        appId: row.appId,
        number: row.number,
        before: { state: row.state },
        after: { state: result.machine.state, failureCode: result.failure?.code ?? null },
      },
    );
    failed += 1;
  }
  return { failed, resumed: await resumeLost(ctx, now) };
}

async function findOffline(ctx: OrganizationCtx, row: DeploymentRow): Promise<string[]> {
  const now = ctx.clock.now();
  const ids = [
    ...row.servers.map(({ serverId }) => serverId),
    ...(row.buildServerId === null ? [] : [row.buildServerId]),
  ];
  const servers = await ctx.tx.server.findMany({
    where: { id: { in: ids }, organizationId: ctx.organizationId },
    select: { id: true, connectedGateway: true, lastSeenAt: true },
  });
  const connected = new Set(servers.filter((server) => isConnected(server, now)).map(({ id }) => id));
  return ids.filter((id) => !connected.has(id));
}

async function resumeLost(ctx: SystemCtx, now: Date): Promise<number> {
  const queuedBefore = new Date(now.getTime() - queueSilenceMs);
  const lost = await ctx.tx.$queryRaw<{ id: string; organizationId: string }[]>`
    SELECT id, organization_id AS "organizationId" FROM deployment
    WHERE (state IN ('building', 'releasing', 'rolling_out') AND lease_until <= ${now})
       OR (state = 'queued' AND queued_at <= ${queuedBefore}
           AND NOT EXISTS (
             SELECT 1 FROM deployment_approval AS approval
             WHERE approval.deployment_id = deployment.id AND approval.state <> 'approved')
           AND NOT EXISTS (
             SELECT 1 FROM deployment_check_wait AS wait
             WHERE wait.deployment_id = deployment.id AND wait.due_at IS NOT NULL)
           AND NOT EXISTS (
             SELECT 1 FROM deployment AS other
             WHERE other.app_id = deployment.app_id AND other.environment_id = deployment.environment_id
               AND other.state IN ('building', 'releasing', 'rolling_out')))
    ORDER BY queued_at LIMIT ${batchMax}`;
  for (const row of lost) await enqueueAdvance(forOrganization(ctx, parseId('org', row.organizationId)), row.id);
  return lost.length;
}
