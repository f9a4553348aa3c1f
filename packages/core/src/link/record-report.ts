// Owns what becomes of an agent's report: what it applied, what runs, and how far its builds, roll-outs and benchmarks are.
import { InstanceState, type InstanceStatus, type Report } from '@fairlead/contract/agent';
import { isId, parseId } from '@fairlead/contract/ids';
import { recordBenchmarks } from '../benchmark/index.ts';
import { recordWork } from '../deployment/index.ts';
import {
  AppError,
  clipText,
  forOrganization,
  notifyChange,
  type OrganizationCtx,
  type SystemCtx,
} from '../kernel/index.ts';

export interface RecordReportInput {
  readonly serverId: string;
  readonly report: Report;
}

const stateNames: Readonly<Partial<Record<InstanceState, string>>> = {
  [InstanceState.STARTING]: 'starting',
  [InstanceState.HEALTHY]: 'healthy',
  [InstanceState.UNHEALTHY]: 'unhealthy',
  [InstanceState.DRAINING]: 'draining',
  [InstanceState.STOPPED]: 'stopped',
  [InstanceState.CRASHED]: 'crashed',
};

/** Throws link.server_unknown when the server was deleted. Apps and releases of others are left out, not trusted. */
export async function recordReport(ctx: SystemCtx, input: RecordReportInput): Promise<void> {
  const { serverId, report } = input;
  const server = await ctx.tx.server.findUnique({
    where: { id: serverId },
    select: {
      organizationId: true,
      appliedEpoch: true,
      appliedNumber: true,
      desiredEpoch: true,
      desiredNumber: true,
      refusedReason: true,
    },
  });
  if (server === null) throw new AppError('link.server_unknown', { serverId });
  const scope = forOrganization(ctx, parseId('org', server.organizationId));

  // Deployments lock their apps, so they come before this server's own row.
  await recordWork(scope, { serverId, builds: report.builds, rollouts: report.rollouts });
  await recordBenchmarks(scope, { serverId, statuses: report.benchmarks });
  await recordInstances(scope, serverId, report.instances);

  const applied = report.applied ?? { epoch: server.appliedEpoch, number: server.appliedNumber };
  const refusedReason = report.refused === undefined ? null : refusal(report.refused);
  await ctx.tx.server.update({
    where: { id: serverId },
    data: {
      lastSeenAt: ctx.clock.now(),
      appliedEpoch: applied.epoch,
      appliedNumber: applied.number,
      refusedReason,
    },
    select: { id: true },
  });
  const moved =
    applied.epoch !== server.appliedEpoch ||
    applied.number !== server.appliedNumber ||
    refusedReason !== server.refusedReason;
  if (moved) await notifyChange(scope, { kind: 'server', id: serverId });
}

function refusal(refused: { readonly code: string; readonly message: string }): string {
  return clipText(refused.message, 500) || clipText(refused.code, 100);
}

/** A report is whole: instances it no longer names are gone. Rows are written only where something changed. */
async function recordInstances(
  ctx: OrganizationCtx,
  serverId: string,
  reported: readonly InstanceStatus[],
): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const rows = reported
    .filter((status) => isId('ins', status.instanceId) && stateNames[status.state] !== undefined)
    .map((status) => ({
      id: status.instanceId,
      appId: status.appId,
      environmentId: status.environmentId,
      releaseId: status.releaseId,
      state: stateNames[status.state],
      pid: positive(status.pid),
      port: positive(status.port),
      restarts: Math.min(status.restarts, 2_000_000_000),
      detail: clipText(status.detail, 1000),
      startedAt: status.startedUnixMs > 0n ? new Date(Number(status.startedUnixMs)).toISOString() : null,
    }));
  const wanted = JSON.stringify(rows);
  // Only apps that are placed on this very server, and releases of those apps.
  const written = await tx.$queryRaw<{ appId: string }[]>`
    INSERT INTO instance (id, organization_id, app_id, environment_id, server_id, release_id, state, pid, port, restarts,
                          detail, started_at, reported_at)
    SELECT row.id, ${organizationId}, row."appId", row."environmentId", ${serverId}, row."releaseId", row.state, row.pid,
           row.port, row.restarts, row.detail, row."startedAt", ${now}
    FROM jsonb_to_recordset(${wanted}::jsonb) AS row (id text, "appId" text, "environmentId" text, "releaseId" text,
           state text, pid int, port int, restarts int, detail text, "startedAt" timestamptz)
    JOIN placement ON placement.app_id = row."appId" AND placement.environment_id = row."environmentId"
                  AND placement.server_id = ${serverId} AND placement.organization_id = ${organizationId}
    JOIN release ON release.id = row."releaseId" AND release.app_id = row."appId"
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, pid = excluded.pid, port = excluded.port,
      restarts = excluded.restarts, detail = excluded.detail, started_at = excluded.started_at,
      reported_at = excluded.reported_at
    WHERE instance.server_id = excluded.server_id
      AND (instance.state, instance.pid, instance.port, instance.restarts, instance.detail, instance.started_at)
          IS DISTINCT FROM
          (excluded.state, excluded.pid, excluded.port, excluded.restarts, excluded.detail, excluded.started_at)
    RETURNING app_id AS "appId"`;
  const gone = await tx.$queryRaw<{ appId: string }[]>`
    DELETE FROM instance
    WHERE server_id = ${serverId} AND organization_id = ${organizationId} AND NOT (id = ANY(${rows.map(({ id }) => id)}))
    RETURNING app_id AS "appId"`;
  for (const appId of new Set([...written, ...gone].map((row) => row.appId))) {
    await notifyChange(ctx, { kind: 'app', id: appId, appId });
  }
}

function positive(value: number): number | null {
  return value > 0 && value <= 2_147_483_647 ? value : null;
}
