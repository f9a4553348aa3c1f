// Records an agent's report: the applied version, the running instances, and the progress of builds, rollouts and
// benchmarks.
import { isDeepStrictEqual } from 'node:util';
import {
  type DiskStatus,
  InstanceState,
  type InstanceStatus,
  type NetworkStatus,
  type Report,
} from '@fairlead/contract/agent';
import { isId, parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { recordBenchmarks } from '../benchmark/index.ts';
import { recordOrders } from '../certificate/index.ts';
import { recordWork } from '../deployment/index.ts';
import {
  AppError,
  clipText,
  forOrganization,
  notifyChange,
  type OrganizationCtx,
  type SystemCtx,
  withoutServerPath,
} from '../kernel/index.ts';
import {
  type DiskView,
  recordAgent,
  recordUninstall,
  type ServerNetwork,
  serverNetworkSchema,
} from '../server/index.ts';
import { recordSnapshots, recordVolumes } from '../volume/index.ts';
import { recordRestores } from '../volume-move/index.ts';

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
  [InstanceState.CRASH_LOOPING]: 'crash_looping',
  [InstanceState.ASLEEP]: 'asleep',
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
      network: true,
    },
  });
  if (server === null) throw new AppError('link.server_unknown', { serverId });
  const scope = forOrganization(ctx, parseId('org', server.organizationId));

  if (report.uninstall !== undefined && (await recordUninstall(scope, { serverId, status: report.uninstall }))) return;
  // Deployments lock their apps, so they come before this server's own row.
  await recordWork(scope, { serverId, builds: report.builds, rollouts: report.rollouts });
  await recordBenchmarks(scope, { serverId, statuses: report.benchmarks });
  await recordInstances(scope, serverId, report.instances);
  await recordVolumes(scope, { serverId, volumes: report.volumes });
  await recordSnapshots(scope, { serverId, statuses: report.volumeTasks });
  await recordRestores(scope, { serverId, statuses: report.volumeTasks });
  if (report.agent !== undefined) await recordAgent(scope, { serverId, status: report.agent });

  const applied = report.applied ?? { epoch: server.appliedEpoch, number: server.appliedNumber };
  await recordOrders(scope, { serverId, statuses: report.certificates, applied });
  const refusedReason = report.refused === undefined ? null : refusal(report.refused);
  const network = report.network === undefined ? null : networkOf(report.network);
  const before = serverNetworkSchema.safeParse(server.network).data ?? null;
  const networkChanged = !isDeepStrictEqual(network, before);
  await ctx.tx.server.update({
    where: { id: serverId },
    data: {
      lastSeenAt: ctx.clock.now(),
      appliedEpoch: applied.epoch,
      appliedNumber: applied.number,
      refusedReason,
      ...(report.disk === undefined ? {} : { disk: diskOf(report.disk) }),
      ...(networkChanged ? { network: network ?? Prisma.DbNull } : {}),
    },
    select: { id: true },
  });
  const moved =
    applied.epoch !== server.appliedEpoch ||
    applied.number !== server.appliedNumber ||
    refusedReason !== server.refusedReason ||
    networkChanged;
  if (moved) await notifyChange(scope, { kind: 'server', id: serverId });
}

function diskOf(disk: DiskStatus): DiskView {
  const bytes = (value: bigint): number => Number(BigInt.asUintN(53, value));
  return {
    freeBytes: bytes(disk.freeBytes),
    totalBytes: bytes(disk.totalBytes),
    artifactsBytes: bytes(disk.artifactsBytes),
    cachesBytes: bytes(disk.cachesBytes),
    imagesBytes: bytes(disk.imagesBytes),
    logsBytes: bytes(disk.logsBytes),
    volumesBytes: bytes(disk.volumesBytes),
    fullUnixMs: bytes(disk.fullUnixMs),
    warning: clipText(disk.warning, 500),
  };
}

const WARNINGS_MAX = 10;

function networkOf({ warnings, repair, repairedUnixMs }: NetworkStatus): ServerNetwork {
  return {
    warnings: warnings.slice(0, WARNINGS_MAX).map((warning) => clipText(warning, 500)),
    repair: repair === '' ? null : { text: clipText(repair, 500), unixMs: Number(BigInt.asUintN(53, repairedUnixMs)) },
  };
}

function refusal(refused: { readonly code: string; readonly message: string }): string {
  return clipText(refused.message, 500) || clipText(refused.code, 100);
}

/** A report is complete: instances that it does not name are deleted. Rows are written only on a change. */
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
      detail: withoutServerPath(clipText(status.detail, 1000)),
      process: clipText(status.process, 40) || 'web',
      cpuMillis: Math.min(status.cpuMillis, 2_000_000_000),
      memoryBytes: Number(BigInt.asUintN(50, status.memoryBytes)),
      startedAt: status.startedUnixMs > 0n ? new Date(Number(status.startedUnixMs)).toISOString() : null,
    }));
  const wanted = JSON.stringify(rows);
  // Only apps that are placed on this very server, and releases of those apps.
  const written = await tx.$queryRaw<{ appId: string }[]>`
    INSERT INTO instance (id, organization_id, app_id, environment_id, server_id, release_id, state, pid, port, restarts,
                          detail, process, cpu_millis, memory_bytes, started_at, reported_at)
    SELECT row.id, ${organizationId}, row."appId", row."environmentId", ${serverId}, row."releaseId", row.state, row.pid,
           row.port, row.restarts, row.detail, row.process, row."cpuMillis", row."memoryBytes", row."startedAt", ${now}
    FROM jsonb_to_recordset(${wanted}::jsonb) AS row (id text, "appId" text, "environmentId" text, "releaseId" text,
           state text, pid int, port int, restarts int, detail text, process text,
           "cpuMillis" int, "memoryBytes" bigint, "startedAt" timestamptz)
    JOIN placement ON placement.app_id = row."appId" AND placement.environment_id = row."environmentId"
                  AND placement.organization_id = ${organizationId}
    JOIN placement_server ON placement_server.placement_id = placement.id AND placement_server.server_id = ${serverId}
    JOIN release ON release.id = row."releaseId" AND release.app_id = row."appId"
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, pid = excluded.pid, port = excluded.port,
      restarts = excluded.restarts, detail = excluded.detail, started_at = excluded.started_at,
      reported_at = excluded.reported_at
    WHERE instance.server_id = excluded.server_id
      AND (instance.state, instance.pid, instance.port, instance.restarts, instance.detail, instance.started_at)
          IS DISTINCT FROM
          (excluded.state, excluded.pid, excluded.port, excluded.restarts, excluded.detail, excluded.started_at)
    RETURNING app_id AS "appId"`;
  // Values that change all the time send no notification: readers load them again.
  await tx.$executeRaw`
    UPDATE instance SET cpu_millis = row."cpuMillis", memory_bytes = row."memoryBytes", reported_at = ${now}
    FROM jsonb_to_recordset(${wanted}::jsonb) AS row (id text, "cpuMillis" int, "memoryBytes" bigint)
    WHERE instance.id = row.id AND instance.server_id = ${serverId} AND instance.organization_id = ${organizationId}
      AND (instance.cpu_millis, instance.memory_bytes) IS DISTINCT FROM (row."cpuMillis", row."memoryBytes")`;
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
