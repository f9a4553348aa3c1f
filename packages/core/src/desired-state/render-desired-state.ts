// Renders the desired state of a server: loads its rows, seals its secrets, and passes both to toDesiredState.
// Invariant: it writes nothing.
import { create } from '@bufbuild/protobuf';
import { type CertificateSpec, CertificateSpecSchema, type DesiredState } from '@fairlead/contract/agent';
import { supports } from '@fairlead/contract/capabilities';
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { type AcmeOptions, loadCertificates } from '../certificate/index.ts';
import { findUnservedHosts, portCheckOf } from '../host/index.ts';
import { AppError, forOrganization, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import {
  findKeptReleases,
  type OriginRoute,
  originSchema,
  releasePlanSchema,
  systemVariables,
} from '../release/index.ts';
import type { SecretSealer } from '../secret/index.ts';
import { listDashboardHosts, wantedAgent, wantedUninstall } from '../server/index.ts';
import { proxySettingsSchema } from '../traffic/index.ts';
import { loadBenchmarks } from './load-benchmarks.ts';
import { loadBuilds } from './load-builds.ts';
import { loadDeploymentUrls } from './load-deployment-urls.ts';
import { type LoadedPlacement, loadPlacements } from './load-placements.ts';
import { loadRollouts } from './load-rollouts.ts';
import { loadAway, loadVolumeTasks } from './load-volume-tasks.ts';
import type { PlacementSecretsProblem } from './record-secrets-problems.ts';
import type { ReleaseRow } from './release-spec.ts';
import { placementKey, type StoredRelease, settingsOf } from './stored-release.ts';
import { type ControlRoute, controlRoutes, toDesiredState, type VolumeRow } from './to-desired-state.ts';

export interface RenderInput {
  readonly serverId: string;
  /** Routes to the control plane itself. Only the local server gets them. */
  readonly controlRoutes?: readonly ControlRoute[];
  readonly sealer: SecretSealer;
  readonly acme?: AcmeOptions;
  /** Address of a domain, for FAIRLEAD_URL. */
  readonly urlOf: (route: OriginRoute, onLocalServer: boolean) => string;
}

export interface RenderedState {
  readonly state: DesiredState;
  /** Placements with a secrets problem that differs from the recorded one, for `recordSecretsProblems`. */
  readonly secretsProblems: readonly PlacementSecretsProblem[];
}

/** Renders the whole desired state of a server at its newest version. */
export async function renderDesiredState(ctx: SystemCtx, input: RenderInput): Promise<RenderedState> {
  const { serverId, sealer } = input;
  const server = await loadServer(ctx, serverId);
  const { capabilities } = server;
  const scoped = forOrganization(ctx, server.organizationId);
  const all = await withoutUnservedHosts(ctx, server.organizationId, await loadPlacements(scoped, serverId));
  const away = await loadAway(scoped, serverId);
  const isStopped = (row: LoadedPlacement) => row.isDeleted || away.has(placementKey(row));
  const placements = all.filter((row) => !isStopped(row));
  const rollouts = await loadRollouts(scoped, serverId);
  const builds = await loadBuilds(scoped, serverId);
  const kept = await findKeptReleases(scoped, all);
  const urls =
    server.baseDomain === null ? [] : await loadDeploymentUrls(ctx, server.organizationId, { serverId, placements });

  const target = { serverId, recipient: server.recipient };
  const releases = [
    ...placements.map(({ liveRelease }) => liveRelease),
    ...[...rollouts.values()].map(({ release }) => release),
    // Last: if the message is full, only theirs are held back.
    ...urls.map(({ release }) => release),
  ];
  const snapshotIds = new Set(releases.flatMap((release) => release?.secretSnapshotId ?? []));
  const sealed = await sealer.seal(scoped, target, [...snapshotIds]);
  const buildSnapshotIds = builds.flatMap(({ buildSnapshotId }) => buildSnapshotId ?? []);
  const buildSecrets = await sealer.sealForBuilds(scoped, target, buildSnapshotIds);
  const credentials = await sealer.sealCredentials(scoped, target, builds);

  const dashboardHosts = server.isLocal ? (await listDashboardHosts(scoped)).map(({ host }) => host) : [];
  const certificates = supports(capabilities, 'certificate')
    ? await loadCertificates(scoped, sealer, {
        target,
        hosts: [
          ...new Set([
            ...all.flatMap(({ domains }) => domains.map(({ host }) => host)),
            ...dashboardHosts,
            ...(server.baseDomain === null ? [] : [`*.${server.baseDomain}`]),
          ]),
        ],
        acme: input.acme ?? { directoryCaPem: '', email: '' },
      })
    : { certificates: [], accounts: [] };

  const variablesOf = (origin: unknown) =>
    systemVariables(originSchema.parse(origin), (route) => input.urlOf(route, server.isLocal));
  const releaseRow = ({ secretSnapshotId, config, plan, origin, ...row }: StoredRelease): ReleaseRow => ({
    ...row,
    artifactKind: row.artifactKind === 'image' ? 'image' : 'archive',
    settings: settingsOf(config),
    plan: releasePlanSchema.parse(plan),
    systemVariables: variablesOf(origin),
    secrets: (secretSnapshotId !== null && sealed.get(secretSnapshotId)) || null,
  });
  const problemOf = (release: StoredRelease | null | undefined) =>
    sealed.get(release?.secretSnapshotId ?? '')?.problem ?? null;

  const secretsProblems = placements.flatMap(({ appId, environmentId, liveRelease, secretsProblem }) => {
    const problem = problemOf(liveRelease) ?? problemOf(rollouts.get(placementKey({ appId, environmentId }))?.release);
    return problem === secretsProblem ? [] : [{ appId, environmentId, problem }];
  });
  const state = toDesiredState({
    stoppedPlacements: all.filter((row) => isStopped(row) && row.liveRelease !== null),
    serverId,
    epoch: server.epoch,
    number: server.number,
    capabilities,
    keptArtifacts: [...new Set(kept.map(({ artifactDigest }) => artifactDigest))].sort(),
    deletedVolumes: supports(capabilities, 'volume') ? await loadDeletedVolumes(scoped, serverId) : [],
    volumeTasks: supports(capabilities, 'volume.snapshot') ? await loadVolumeTasks(scoped, serverId) : [],
    proxy: proxySettingsSchema.parse(server.proxy),
    agent: supports(capabilities, 'upgrade') ? wantedAgent(server.upgrade, ctx.clock.now()) : null,
    uninstall: supports(capabilities, 'uninstall') ? wantedUninstall(server.uninstall) : null,
    controlRoutes: server.isLocal ? controlRoutesOf(input.controlRoutes ?? [], dashboardHosts) : [],
    placements: placements.map(({ liveRelease, settings: { autoscaling, traffic }, ...placement }) => {
      const rollout = rollouts.get(placementKey(placement));
      return {
        ...placement,
        live: liveRelease === null ? null : releaseRow(liveRelease),
        candidate: rollout === undefined ? null : { ...rollout, release: releaseRow(rollout.release) },
        autoscaling,
        traffic,
      };
    }),
    deploymentUrls: urls.map(({ placement, release, host, domains }) => ({
      appId: placement.appId,
      environmentId: placement.environmentId,
      appName: placement.appName,
      traffic: placement.settings.traffic,
      isLive: release.id === placement.liveRelease?.id,
      release: releaseRow(release),
      url: input.urlOf({ host, pathPrefix: '/' }, server.isLocal),
      domains,
    })),
    builds: builds.map(({ origin, buildSnapshotId, ...build }) => ({
      ...build,
      systemVariables: variablesOf(origin),
      secrets: buildSecrets.get(buildSnapshotId ?? '') ?? null,
      credentials: credentials.get(build.appId) ?? null,
    })),
    benchmarks: await loadBenchmarks(scoped, serverId),
    ...certificates,
    certificates: [
      ...certificates.certificates,
      ...(supports(capabilities, 'certificate.challenge') ? [portCheckSpec(serverId, server.portCheckToken)] : []),
    ],
  });
  return { state, secretsProblems };
}

/** Lets the proxy answer port checks, by the challenges of a name without a certificate. */
function portCheckSpec(serverId: string, token: string): CertificateSpec {
  const { name, answer } = portCheckOf(token);
  return create(CertificateSpecSchema, {
    certificateId: serverId.replace(/^srv_/, 'crt_'),
    hosts: [name],
    challengeThumbprint: answer,
    tlsAlpnProofs: [{ host: name, value: answer }],
  });
}

/** Adds the routes of the dashboard's domains. The public URL of the settings may have one of them. */
function controlRoutesOf(routes: readonly ControlRoute[], dashboardHosts: readonly string[]): ControlRoute[] {
  const further = dashboardHosts.filter((host) => routes.every((route) => route.host !== host));
  return [...routes, ...further.flatMap((host) => controlRoutes({ host, reservesBelow: false }))];
}

/** Leaves out domains of hosts that belong to another organization. */
async function withoutUnservedHosts(
  ctx: SystemCtx,
  organizationId: OrganizationId,
  placements: readonly LoadedPlacement[],
): Promise<LoadedPlacement[]> {
  const hosts = placements.flatMap(({ domains }) => domains.map(({ host }) => host));
  const unserved = await findUnservedHosts(ctx, organizationId, hosts);
  return placements.map((placement) => ({
    ...placement,
    domains: placement.domains.filter(({ host }) => !unserved.has(host)),
  }));
}

interface ServerRow {
  readonly organizationId: string;
  readonly isLocal: boolean;
  readonly epoch: number;
  readonly number: bigint;
  readonly recipient: string | null;
  readonly proxy: unknown;
  readonly capabilities: string[];
  readonly upgrade: unknown;
  readonly uninstall: unknown;
  readonly portCheckToken: string;
  readonly baseDomain: string | null;
}

/** Waits for transactions that bump the version, so that version and content match. */
async function loadServer(
  { tx }: SystemCtx,
  serverId: string,
): Promise<ServerRow & { readonly organizationId: OrganizationId }> {
  const [row] = await tx.$queryRaw<ServerRow[]>`
    SELECT organization_id AS "organizationId", is_local AS "isLocal", desired_epoch AS "epoch", desired_number AS "number",
           sealing_recipient AS "recipient", coalesce(capabilities, '{}') AS capabilities, proxy, upgrade, uninstall,
           organization.port_check_token AS "portCheckToken", base_domain AS "baseDomain"
    FROM server JOIN organization ON organization.id = organization_id WHERE server.id = ${serverId} FOR SHARE OF server`;
  if (row === undefined) throw new AppError('server.not_found', { serverId });
  return { ...row, organizationId: parseId('org', row.organizationId) };
}

/** Volumes at the end of their delay, and copies that moved apps have left, unless they are back. */
async function loadDeletedVolumes(ctx: OrganizationCtx, serverId: string): Promise<VolumeRow[]> {
  return ctx.tx.$queryRaw<VolumeRow[]>`
    SELECT app_id AS "appId", environment_id AS "environmentId", name FROM volume
    WHERE organization_id = ${ctx.organizationId} AND jsonb_exists(used_bytes, ${serverId})
      AND (released_at IS NOT NULL OR EXISTS (
        SELECT 1 FROM volume_move AS move
        WHERE move.app_id = volume.app_id AND move.environment_id = volume.environment_id
          AND move.left_server_id = ${serverId} AND move.left_released_at IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM volume_move AS newer
            WHERE newer.app_id = move.app_id AND newer.environment_id = move.environment_id
              AND newer.created_at > move.created_at AND ${serverId} IN (newer.source_server_id, newer.target_server_id))
          AND NOT EXISTS (SELECT 1 FROM placement_server JOIN placement ON placement.id = placement_server.placement_id
            WHERE placement.app_id = move.app_id AND placement.environment_id = move.environment_id
              AND placement_server.server_id = ${serverId})))
    ORDER BY app_id, environment_id, name`;
}
