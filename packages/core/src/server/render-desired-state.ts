// Loads the rows of a server's desired state; desired-state.ts, which is pure, renders the message.
import type { DesiredState } from '@fairlead/contract/agent';
import { supports } from '@fairlead/contract/capabilities';
import { parseId } from '@fairlead/contract/ids';
import { storedPlanSchema } from '../benchmark/schema.ts';
import { defaultSettings, runCommandsIn, type Settings, settingsSchema } from '../config/index.ts';
import { AppError, forOrganization, notifyChange, type SystemCtx } from '../kernel/index.ts';
import {
  findKeptReleases,
  type OriginRoute,
  originSchema,
  releasePlanSchema,
  systemVariables,
} from '../release/index.ts';
import type { SecretSealer, SecretsProblem } from '../secret/index.ts';
import { buildSourceOf } from '../source/index.ts';
import { proxySettingsSchema, storedPolicySchema } from '../traffic/index.ts';
import { bumpServer } from './bump-server.ts';
import { type CandidateRow, type ControlRoute, type ReleaseRow, toDesiredState } from './desired-state.ts';
import { wantedAgent } from './upgrade.ts';

export interface RenderInput {
  readonly serverId: string;
  /** Routes to the control plane itself; the local server fronts it, no other one gets them. */
  readonly controlRoutes?: readonly ControlRoute[];
  readonly sealer: SecretSealer;
  /** Address of a domain, for FAIRLEAD_URL. */
  readonly urlOf: (route: OriginRoute, onLocalServer: boolean) => string;
}

const releaseColumns = {
  id: true,
  number: true,
  artifactDigest: true,
  artifactKind: true,
  command: true,
  healthPath: true,
  plan: true,
  origin: true,
  secretSnapshotId: true,
  config: { select: { settings: true } },
} as const;

interface SelectedRelease {
  readonly id: string;
  readonly number: number;
  readonly artifactDigest: string;
  readonly artifactKind: string;
  readonly command: string[];
  readonly healthPath: string;
  readonly plan: unknown;
  readonly origin: unknown;
  readonly secretSnapshotId: string | null;
  readonly config: { readonly settings: unknown } | null;
}

/** The whole desired state of a server at its newest version. */
export async function renderDesiredState(ctx: SystemCtx, input: RenderInput): Promise<DesiredState> {
  const { tx } = ctx;
  const { serverId } = input;
  // Waits for transactions that changed something and bumped the version, so that version and content belong together.
  const [version] = await tx.$queryRaw<
    {
      organizationId: string;
      isLocal: boolean;
      epoch: number;
      number: bigint;
      recipient: string | null;
      proxy: unknown;
      capabilities: string[];
      upgrade: unknown;
    }[]
  >`
    SELECT organization_id AS "organizationId", is_local AS "isLocal", desired_epoch AS "epoch", desired_number AS "number",
           sealing_recipient AS "recipient", coalesce(capabilities, '{}') AS capabilities, proxy, upgrade
    FROM server WHERE id = ${serverId} FOR SHARE`;
  if (version === undefined) throw new AppError('server.not_found', { serverId });
  const { organizationId, capabilities } = version;
  const scoped = forOrganization(ctx, parseId('org', organizationId));

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
  const rolls = await tx.deploymentServer.findMany({
    where: {
      serverId,
      organizationId,
      state: { in: ['rolling_out', 'reverting'] },
      deployment: { state: { in: ['releasing', 'rolling_out'] } },
    },
    select: {
      state: true,
      position: true,
      revertId: true,
      formerReleaseId: true,
      deployment: {
        select: {
          id: true,
          appId: true,
          environmentId: true,
          release: { select: releaseColumns },
          servers: { select: { position: true }, orderBy: { position: 'desc' }, take: 1 },
        },
      },
    },
  });
  const formerReleases = await tx.release.findMany({
    where: { organizationId, id: { in: rolls.flatMap(({ formerReleaseId }) => formerReleaseId ?? []) } },
    select: releaseColumns,
  });
  const building = await tx.deployment.findMany({
    where: { organizationId, buildServerId: serverId, state: 'building' },
    select: {
      id: true,
      appId: true,
      environmentId: true,
      ref: true,
      origin: true,
      uploadDigest: true,
      withoutCache: true,
      buildSnapshotId: true,
      config: { select: { settings: true } },
    },
    orderBy: { id: 'asc' },
  });
  const appIds = [...new Set([...placements, ...building].map(({ appId }) => appId))];
  const apps = await tx.app.findMany({
    where: { organizationId, id: { in: appIds } },
    select: { id: true, name: true, repositoryUrl: true, rootFolder: true, command: true },
  });
  const domains = await tx.domain.findMany({
    where: { organizationId, appId: { in: appIds } },
    select: { appId: true, environmentId: true, host: true, pathPrefix: true, policy: true },
    orderBy: [{ host: 'asc' }, { pathPrefix: 'asc' }],
  });
  const runs = await tx.benchmarkRun.findMany({
    where: { organizationId, serverId, state: { in: ['queued', 'running'] } },
    select: { id: true, appId: true, environmentId: true, plan: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  const newest = await tx.$queryRaw<{ appId: string; environmentId: string; settings: unknown }[]>`
    SELECT DISTINCT ON (app_id, environment_id) app_id AS "appId", environment_id AS "environmentId", settings
    FROM app_config WHERE organization_id = ${organizationId} AND app_id = ANY(${appIds})
    ORDER BY app_id, environment_id, number DESC`;
  const deletedVolumes = supports(capabilities, 'volume')
    ? await tx.$queryRaw<{ appId: string; environmentId: string; name: string }[]>`
        SELECT app_id AS "appId", environment_id AS "environmentId", name FROM volume
        WHERE organization_id = ${organizationId} AND released_at IS NOT NULL AND jsonb_exists(used_bytes, ${serverId})
        ORDER BY app_id, environment_id, name`
    : [];
  const kept = await findKeptReleases(scoped, placements);

  const releases: (SelectedRelease | null)[] = [
    ...placements.map(({ liveRelease }) => liveRelease),
    ...rolls.map(({ deployment }) => deployment.release),
    ...formerReleases,
  ];
  const snapshotIds = new Set(releases.flatMap((release) => release?.secretSnapshotId ?? []));
  const target = { serverId, recipient: version.recipient };
  const sealed = await input.sealer.seal(scoped, target, [...snapshotIds]);
  const buildSecrets = await input.sealer.sealForBuilds(
    scoped,
    target,
    building.flatMap(({ buildSnapshotId }) => buildSnapshotId ?? []),
  );
  const credentials = await input.sealer.sealCredentials(
    scoped,
    target,
    building.map(({ appId, environmentId, config, uploadDigest }) => ({
      appId,
      environmentId,
      source: buildSourceOf({
        settings: settingsOf(config),
        repositoryUrl: apps.find(({ id }) => id === appId)?.repositoryUrl ?? '',
        uploadDigest,
      }),
    })),
  );
  const variablesOf = (origin: unknown) =>
    systemVariables(originSchema.parse(origin), (route) => input.urlOf(route, version.isLocal));
  const releaseRow = ({
    secretSnapshotId,
    config,
    plan,
    origin,
    artifactKind,
    ...row
  }: SelectedRelease): ReleaseRow => ({
    ...row,
    artifactKind: artifactKind === 'image' ? 'image' : 'archive',
    settings: settingsOf(config),
    plan: releasePlanSchema.parse(plan),
    systemVariables: variablesOf(origin),
    secrets: (secretSnapshotId !== null && sealed.get(secretSnapshotId)) || null,
  });
  const problemOf = (release: SelectedRelease | null | undefined) =>
    sealed.get(release?.secretSnapshotId ?? '')?.problem ?? null;

  const keyOf = (row: { appId: string; environmentId: string }): string => `${row.appId}/${row.environmentId}`;
  const appsById = new Map(apps.map((app) => [app.id, app]));
  const domainsOf = Map.groupBy(domains, keyOf);
  const newestOf = new Map(newest.map((row) => [keyOf(row), settingsSchema.parse(row.settings)]));
  const rollOf = new Map(rolls.map((roll) => [keyOf(roll.deployment), roll]));
  const formerById = new Map(formerReleases.map((release) => [release.id, release]));
  const candidateOf = (roll: (typeof rolls)[number] | undefined): CandidateRow | null => {
    if (roll === undefined) return null;
    const { deployment, position, revertId } = roll;
    const isBack = roll.state === 'reverting';
    const release = isBack ? formerById.get(roll.formerReleaseId ?? '') : deployment.release;
    const deploymentId = isBack ? revertId : deployment.id;
    if (!release || deploymentId === null) return null;
    const isLast = position === deployment.servers[0]?.position;
    return { deploymentId, release: releaseRow(release), isFirst: position === 0, isLast, isBack };
  };
  let recovered = false;
  for (const placement of placements) {
    const problem = problemOf(placement.liveRelease) ?? problemOf(rollOf.get(keyOf(placement))?.deployment.release);
    await recordSecretsProblem(ctx, { organizationId, serverId }, placement, problem);
    recovered ||= placement.secretsProblem !== null && problem === null;
  }
  // An agent that holds this version without those secrets would not take it a second time.
  const number = recovered ? await bumpServer(scoped, serverId) : version.number;
  return toDesiredState({
    serverId,
    epoch: version.epoch,
    number,
    capabilities,
    keptArtifacts: [...new Set(kept.map(({ artifactDigest }) => artifactDigest))].sort(),
    deletedVolumes,
    proxy: proxySettingsSchema.parse(version.proxy),
    agent: supports(capabilities, 'upgrade') ? wantedAgent(version.upgrade, ctx.clock.now()) : null,
    controlRoutes: version.isLocal ? (input.controlRoutes ?? []) : [],
    placements: placements.map((placement) => ({
      appId: placement.appId,
      environmentId: placement.environmentId,
      appName: appsById.get(placement.appId)?.name ?? placement.appId,
      instances: placement.instances,
      live: placement.liveRelease === null ? null : releaseRow(placement.liveRelease),
      candidate: candidateOf(rollOf.get(keyOf(placement))),
      autoscaling: newestOf.get(keyOf(placement))?.autoscaling ?? null,
      traffic: (newestOf.get(keyOf(placement)) ?? defaultSettings).traffic,
      domains: (domainsOf.get(keyOf(placement)) ?? []).map(({ host, pathPrefix, policy }) => ({
        host,
        pathPrefix,
        policy: storedPolicySchema.parse(policy),
      })),
    })),
    builds: building.flatMap(({ id, appId, config, buildSnapshotId, origin, ...row }) => {
      const app = appsById.get(appId);
      if (app === undefined) return [];
      const settings = settingsOf(config);
      const { repositoryUrl, rootFolder } = app;
      const startCommand = settings.startCommand.length > 0 ? settings.startCommand : app.command;
      return [
        {
          ...row,
          deploymentId: id,
          appId,
          repositoryUrl,
          rootFolder,
          settings,
          startCommand,
          runCommands: runCommandsIn(
            newest.filter((each) => each.appId === appId).map((each) => settingsSchema.parse(each.settings)),
            startCommand,
          ),
          systemVariables: variablesOf(origin),
          secrets: buildSecrets.get(buildSnapshotId ?? '') ?? null,
          credentials: credentials.get(appId) ?? null,
        },
      ];
    }),
    benchmarks: runs.map((run) => ({
      runId: run.id,
      appId: run.appId,
      environmentId: run.environmentId,
      plan: storedPlanSchema.parse(run.plan),
    })),
  });
}

/** The app's page shows the problem: the server itself only knows that a start fails. */
async function recordSecretsProblem(
  ctx: SystemCtx,
  { organizationId, serverId }: { readonly organizationId: string; readonly serverId: string },
  place: { readonly appId: string; readonly environmentId: string; readonly secretsProblem: string | null },
  secretsProblem: SecretsProblem | null,
): Promise<void> {
  const { appId, environmentId, secretsProblem: known } = place;
  if (known === secretsProblem) return;
  await ctx.tx.placement.updateMany({
    where: { organizationId, serverId, appId, environmentId },
    data: { secretsProblem },
  });
  await notifyChange(forOrganization(ctx, parseId('org', organizationId)), { kind: 'app', id: appId, appId });
}

function settingsOf(config: { readonly settings: unknown } | null): Settings {
  return config === null ? defaultSettings : settingsSchema.parse(config.settings);
}
