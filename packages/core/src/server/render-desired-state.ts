// Owns gathering the rows that a server's desired state is made of. Making the message is desired-state.ts, which is
// pure.
import type { DesiredState } from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import { AppError, forOrganization, notifyChange, type SystemCtx } from '../kernel/index.ts';
import type { SecretSealer, SecretsProblem } from '../secret/index.ts';
import { type ControlRoute, type ReleaseRow, toDesiredState } from './desired-state.ts';
import { storedPlanSchema } from './schema.ts';

export interface RenderInput {
  readonly serverId: string;
  /** Routes to the control plane itself; the local server fronts it, no other one gets them. */
  readonly controlRoutes?: readonly ControlRoute[];
  readonly sealer: SecretSealer;
}

const releaseColumns = {
  id: true,
  number: true,
  artifactDigest: true,
  command: true,
  healthPath: true,
  secretSnapshotId: true,
} as const;

interface SelectedRelease extends Omit<ReleaseRow, 'secrets'> {
  readonly secretSnapshotId: string | null;
}

/** The whole desired state of a server at its newest version. */
export async function renderDesiredState(ctx: SystemCtx, input: RenderInput): Promise<DesiredState> {
  const { tx } = ctx;
  const { serverId } = input;
  // Waits for transactions that changed something and bumped the version, so that version and content belong together.
  const [version] = await tx.$queryRaw<
    { organizationId: string; isLocal: boolean; epoch: number; number: bigint; recipient: string | null }[]
  >`
    SELECT organization_id AS "organizationId", is_local AS "isLocal", desired_epoch AS "epoch", desired_number AS "number",
           sealing_recipient AS "recipient"
    FROM server WHERE id = ${serverId} FOR SHARE`;
  if (version === undefined) throw new AppError('server.not_found', { serverId });
  const { organizationId } = version;

  const placements = await tx.placement.findMany({
    where: { serverId, organizationId },
    select: {
      appId: true,
      environmentId: true,
      instances: true,
      secretsProblem: true,
      liveRelease: { select: releaseColumns },
    },
    orderBy: [{ appId: 'asc' }, { environmentId: 'asc' }],
  });
  const appIds = placements.map(({ appId }) => appId);
  const apps = await tx.app.findMany({
    where: { organizationId, id: { in: appIds } },
    select: { id: true, name: true, repositoryUrl: true, rootFolder: true },
  });
  const underWay = await tx.deployment.findMany({
    where: { organizationId, appId: { in: appIds }, state: { in: ['building', 'rolling_out'] } },
    select: {
      id: true,
      appId: true,
      environmentId: true,
      state: true,
      ref: true,
      release: { select: releaseColumns },
    },
    orderBy: { id: 'asc' },
  });
  const domains = await tx.domain.findMany({
    where: { organizationId, appId: { in: appIds } },
    select: { appId: true, environmentId: true, host: true },
    orderBy: { host: 'asc' },
  });
  const runs = await tx.benchmarkRun.findMany({
    where: { organizationId, serverId, state: { in: ['queued', 'running'] } },
    select: { id: true, appId: true, environmentId: true, plan: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });

  const releases = [...placements.map(({ liveRelease }) => liveRelease), ...underWay.map(({ release }) => release)];
  const snapshotIds = new Set(releases.flatMap((release) => release?.secretSnapshotId ?? []));
  const sealed = await input.sealer.seal(
    forOrganization(ctx, parseId('org', organizationId)),
    { serverId, recipient: version.recipient },
    [...snapshotIds],
  );
  const releaseRow = ({ secretSnapshotId, ...row }: SelectedRelease): ReleaseRow => ({
    ...row,
    secrets: (secretSnapshotId !== null && sealed.get(secretSnapshotId)) || null,
  });
  const problemOf = (release: SelectedRelease | null | undefined) =>
    sealed.get(release?.secretSnapshotId ?? '')?.problem ?? null;

  const keyOf = (row: { appId: string; environmentId: string }): string => `${row.appId}/${row.environmentId}`;
  const appsById = new Map(apps.map((app) => [app.id, app]));
  const hosts = Map.groupBy(domains, keyOf);
  const deployments = new Map(underWay.map((row) => [keyOf(row), row]));
  for (const placement of placements) {
    const candidate = deployments.get(keyOf(placement))?.release;
    await recordSecretsProblem(
      ctx,
      organizationId,
      placement,
      problemOf(placement.liveRelease) ?? problemOf(candidate),
    );
  }
  return toDesiredState({
    serverId,
    epoch: version.epoch,
    number: version.number,
    controlRoutes: version.isLocal ? (input.controlRoutes ?? []) : [],
    placements: placements.map((placement) => {
      const deployment = deployments.get(keyOf(placement));
      const release = deployment?.state === 'rolling_out' ? deployment.release : null;
      return {
        appId: placement.appId,
        environmentId: placement.environmentId,
        appName: appsById.get(placement.appId)?.name ?? placement.appId,
        instances: placement.instances,
        live: placement.liveRelease === null ? null : releaseRow(placement.liveRelease),
        candidate:
          deployment === undefined || release === null
            ? null
            : { deploymentId: deployment.id, release: releaseRow(release) },
        hosts: (hosts.get(keyOf(placement)) ?? []).map(({ host }) => host),
      };
    }),
    builds: placements.flatMap((placement) => {
      const app = appsById.get(placement.appId);
      const deployment = deployments.get(keyOf(placement));
      if (app === undefined || deployment?.state !== 'building') return [];
      const { repositoryUrl, rootFolder } = app;
      return [{ deploymentId: deployment.id, appId: placement.appId, repositoryUrl, ref: deployment.ref, rootFolder }];
    }),
    benchmarks: runs.map((run) => ({
      runId: run.id,
      appId: run.appId,
      environmentId: run.environmentId,
      plan: storedPlanSchema.parse(run.plan),
    })),
  });
}

/** The app's page says it: the server itself only knows that a start fails. */
async function recordSecretsProblem(
  ctx: SystemCtx,
  organizationId: string,
  {
    appId,
    environmentId,
    secretsProblem: known,
  }: { appId: string; environmentId: string; secretsProblem: string | null },
  secretsProblem: SecretsProblem | null,
): Promise<void> {
  if (known === secretsProblem) return;
  await ctx.tx.placement.updateMany({ where: { organizationId, appId, environmentId }, data: { secretsProblem } });
  await notifyChange(forOrganization(ctx, parseId('org', organizationId)), { kind: 'app', id: appId, appId });
}
