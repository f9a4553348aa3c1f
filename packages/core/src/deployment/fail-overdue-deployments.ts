// Owns what no worker and no server takes care of any more: deadlines and lost leases. Runs above organizations.
import { parseId } from '@fairlead/contract/ids';
import { forOrganization, type SystemCtx } from '../kernel/index.ts';
import { isConnected } from '../server/index.ts';
import { applyStep, enqueueAdvance } from './apply-step.ts';
import { auditDeployment } from './audit.ts';
import { step } from './machine.ts';
import { findDeployment, machineOf } from './store.ts';

interface DueRow {
  readonly id: string;
  readonly organizationId: string;
  readonly appId: string;
  readonly serverId: string;
  readonly connectedGateway: string | null;
  readonly lastSeenAt: Date | null;
}

/** A job that was enqueued with the deployment has run long before; later than that, it was lost with its worker. */
const queueSilenceMs = 15_000;
const batchMax = 200;

/** Fails what its server did not finish in time, and sets going again what no worker holds any more. */
export async function failOverdueDeployments(ctx: SystemCtx): Promise<{ failed: number; resumed: number }> {
  const now = ctx.clock.now();
  const overdue = await ctx.tx.$queryRaw<DueRow[]>`
    SELECT deployment.id, deployment.organization_id AS "organizationId", deployment.app_id AS "appId",
           server.id AS "serverId", server.connected_gateway AS "connectedGateway", server.last_seen_at AS "lastSeenAt"
    FROM deployment
    JOIN placement ON placement.app_id = deployment.app_id AND placement.environment_id = deployment.environment_id
    JOIN server ON server.id = placement.server_id
    WHERE deployment.state IN ('building', 'rolling_out') AND deployment.deadline_at <= ${now}
    ORDER BY deployment.deadline_at LIMIT ${batchMax}`;
  // All at once and before any server's row is touched: a report takes apps first, then its server.
  const appIds = overdue.map(({ appId }) => appId);
  await ctx.tx.$queryRaw`SELECT id FROM app WHERE id = ANY(${appIds}) ORDER BY id FOR NO KEY UPDATE`;
  let failed = 0;
  for (const due of overdue) {
    const scoped = forOrganization(ctx, parseId('org', due.organizationId));
    const row = await findDeployment(scoped, due.id);
    if (row === null) continue;
    const result = step(machineOf(row), { kind: 'overdue', serverConnected: isConnected(due, now) }, now);
    if (result.machine.state === row.state) continue;
    await applyStep(scoped, row, result, { serverId: due.serverId });
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

async function resumeLost(ctx: SystemCtx, now: Date): Promise<number> {
  const queuedBefore = new Date(now.getTime() - queueSilenceMs);
  const lost = await ctx.tx.$queryRaw<{ id: string; organizationId: string }[]>`
    SELECT id, organization_id AS "organizationId" FROM deployment
    WHERE (state IN ('building', 'rolling_out') AND lease_until <= ${now})
       OR (state = 'queued' AND queued_at <= ${queuedBefore}
           AND NOT EXISTS (
             SELECT 1 FROM deployment_approval AS approval
             WHERE approval.deployment_id = deployment.id AND approval.state <> 'approved')
           AND NOT EXISTS (
             SELECT 1 FROM deployment AS other
             WHERE other.app_id = deployment.app_id AND other.environment_id = deployment.environment_id
               AND other.state IN ('building', 'rolling_out')))
    ORDER BY queued_at LIMIT ${batchMax}`;
  for (const row of lost) await enqueueAdvance(forOrganization(ctx, parseId('org', row.organizationId)), row.id);
  return lost.length;
}
