// Renders a server's desired state as the message that is signed and sent. Pure, from rows.
// Invariant: only values that were checked when stored get here, because an agent refuses the whole state for one
// wrong field.
import { create } from '@bufbuild/protobuf';
import {
  type AcmeAccount,
  type AppSpec,
  AppSpecSchema,
  type BenchmarkRole,
  type BuildSpec,
  BuildSpecSchema,
  type CertificateSpec,
  type DesiredState,
  DesiredStateSchema,
  type Rollout,
  RolloutSchema,
  type RouteSpec,
  RouteSpecSchema,
  type VolumeTask,
  VolumeTaskSchema,
} from '@fairlead/contract/agent';
import { supports } from '@fairlead/contract/capabilities';
import type { StoredPlan } from '../benchmark/schema.ts';
import { defaultSettings, type Settings, variablesIn } from '../config/index.ts';
import { isHostAtOrBelow, isPublicHost } from '../kernel/index.ts';
import type { WantedAgent } from '../server/index.ts';
import {
  type HostPolicySettings,
  type ProxySettings,
  proxySettings,
  routePolicy,
  type StoredPolicy,
  storedPolicySchema,
} from '../traffic/index.ts';
import { benchmarkPlan } from './benchmark-plan.ts';
import { missingBenchmarkCapability, requiredCapabilities } from './capabilities.ts';
import { type DeploymentUrlRow, formerReleases, routedUrl } from './former-releases.ts';
import { type ReleaseRow, releaseSpec } from './release-spec.ts';
import { appFields, builders, rolloutFields } from './settings-fields.ts';

export interface PlacementRow {
  readonly appId: string;
  readonly environmentId: string;
  readonly appName: string;
  readonly instances: number;
  readonly live: ReleaseRow | null;
  readonly candidate: CandidateRow | null;
  /** From the newest settings: scaling follows the load, not the release. */
  readonly autoscaling: Settings['autoscaling'];
  readonly traffic: Settings['traffic'];
  readonly domains: readonly DomainRow[];
}

export interface DomainRow {
  readonly host: string;
  readonly pathPrefix: string;
  readonly policy: StoredPolicy;
  readonly hostPolicy?: HostPolicySettings;
}

export interface RoutedPlacement {
  readonly appId: string;
  readonly environmentId: string;
  readonly domains: readonly DomainRow[];
}

export interface CandidateRow {
  readonly deploymentId: string;
  readonly release: ReleaseRow;
  /** The release command runs once for a deployment: on its first server. */
  readonly isFirst: boolean;
  /** The post-release command runs on its last. */
  readonly isLast: boolean;
  /** The way back to what was there before runs no commands and tries nothing out. */
  readonly isBack: boolean;
  /** True if the release has served before: no benchmark gate delays a rollback or a restart. */
  readonly isProven: boolean;
}

export interface Sealed {
  readonly sealed: Uint8Array;
  readonly version: string;
}

export interface VolumeRow {
  readonly appId: string;
  readonly environmentId: string;
  readonly name: string;
}

export interface VolumeTaskRow {
  readonly taskId: string;
  readonly volume: VolumeRow;
  readonly action:
    | { readonly kind: 'snapshot'; readonly stopped: boolean }
    | { readonly kind: 'restore'; readonly digest: string };
}

export interface BuildRow {
  readonly deploymentId: string;
  readonly appId: string;
  readonly repositoryUrl: string;
  readonly environmentId: string;
  readonly ref: string;
  readonly rootFolder: string;
  readonly uploadDigest: string | null;
  readonly withoutCache: boolean;
  readonly startCommand: readonly string[];
  /** Commands of settings beside the start command, a line each: the artifact keeps the packages that they name. */
  readonly runCommands: readonly string[];
  readonly settings: Settings;
  readonly systemVariables: Readonly<Record<string, string>>;
  /** Those that are marked for builds; null for none. */
  readonly secrets: Sealed | null;
  /** Source credentials; null for a public source. */
  readonly credentials: Sealed | null;
}

export interface BenchmarkPlanRow {
  readonly runId: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly plan: StoredPlan;
  /** Live release when the run was created; null: a run from before Fairlead stored it. */
  readonly liveReleaseId: string | null;
  /** Part of this server in a distributed run. */
  readonly part?: BenchmarkPartRow;
}

export interface BenchmarkPartRow {
  readonly role: BenchmarkRole;
  readonly addresses: string[];
  readonly caPem: string;
  /** Port check of the organization, with an answer of 32 bytes. */
  readonly checkName: string;
  readonly checkAnswer: Uint8Array<ArrayBuffer>;
  readonly row: number;
  /** Start by the clock of this server; 0: not all servers are ready. */
  readonly startUnixUs: bigint;
}

export interface ControlRoute {
  readonly host: string;
  readonly pathPrefix: string;
  /** Part of the control plane that serves it. */
  readonly socket: 'web' | 'gateway';
  /** True: no app has a host below it either. */
  readonly reservesBelow: boolean;
}

/** Returns the routes of a control plane's host: the dashboard and, on the same host, the gateway. */
export function controlRoutes(host: Pick<ControlRoute, 'host' | 'reservesBelow'>): ControlRoute[] {
  return [
    { ...host, pathPrefix: '/', socket: 'web' },
    { ...host, pathPrefix: '/agent', socket: 'gateway' },
  ];
}

export interface DesiredRows {
  readonly serverId: string;
  readonly epoch: number;
  readonly number: bigint;
  readonly placements: readonly PlacementRow[];
  /**
   * Placements of deleted apps, and of apps whose volumes are copied: their hosts stay, and the proxy answers that the app is
   * not running.
   */
  readonly stoppedPlacements: readonly RoutedPlacement[];
  /** The newest release of each app first. */
  readonly deploymentUrls: readonly DeploymentUrlRow[];
  readonly builds: readonly BuildRow[];
  readonly benchmarks: readonly BenchmarkPlanRow[];
  readonly certificates: readonly CertificateSpec[];
  /** Accounts of the orders in `certificates`. */
  readonly accounts: readonly AcmeAccount[];
  readonly controlRoutes: readonly ControlRoute[];
  /** Capabilities that the agent reported; messages that it does not know are left out. */
  readonly capabilities: readonly string[];
  readonly keptArtifacts: readonly string[];
  readonly deletedVolumes: readonly VolumeRow[];
  readonly volumeTasks: readonly VolumeTaskRow[];
  readonly proxy: ProxySettings;
  /** The agent that a member requested; null: the one that runs. */
  readonly agent: WantedAgent | null;
  /** Request that the agent removes itself; null: it stays. */
  readonly uninstall: { readonly withData: boolean } | null;
}

export function toDesiredState(rows: DesiredRows): DesiredState {
  const apps = rows.placements.filter(({ live, candidate }) => live !== null || candidate !== null);
  // A host routes to one target only, and no app may take a host of the control plane.
  const isReserved = (host: string) =>
    rows.controlRoutes.some((route) => (route.reservesBelow ? isHostAtOrBelow(host, route.host) : host === route.host));
  const routes = [
    ...[
      ...apps.flatMap((row) => appRoutes(row, rows.capabilities)),
      ...rows.deploymentUrls.flatMap((row) => appRoutes(routedUrl(row), rows.capabilities)),
      ...rows.stoppedPlacements.flatMap((row) => stoppedRoutes(row, rows.capabilities)),
    ].filter(({ host }) => !isReserved(host)),
    ...rows.controlRoutes.map(controlRoute),
  ];
  const proxy = proxySettings(rows.proxy);
  const state = create(DesiredStateSchema, {
    version: { epoch: rows.epoch, number: rows.number },
    serverId: rows.serverId,
    apps: [
      ...apps.map((app) => appSpec(app, rows.capabilities)),
      ...formerReleases(rows.deploymentUrls, rows.capabilities),
    ],
    routes,
    builds: rows.builds.map((build) => buildSpec(build, rows.capabilities)),
    ...(proxy === null ? {} : { proxy }),
    keptArtifacts: [...rows.keptArtifacts],
    deletedVolumes: rows.deletedVolumes.map((volume) => ({ ...volume })),
    volumeTasks: rows.volumeTasks.map(volumeTask),
    ...(rows.agent === null ? {} : { agent: { ...rows.agent, sizeBytes: BigInt(rows.agent.sizeBytes) } }),
    certificates: [...rows.certificates],
    acmeAccounts: [...rows.accounts],
    ...(rows.uninstall === null ? {} : { uninstall: rows.uninstall }),
    benchmarks: rows.benchmarks
      .map(benchmarkPlan)
      .filter((plan) => missingBenchmarkCapability(plan, rows.capabilities) === null),
  });
  return { ...state, requires: requiredCapabilities(state) };
}

function volumeTask({ taskId, volume, action }: VolumeTaskRow): VolumeTask {
  return create(VolumeTaskSchema, {
    taskId,
    volume: { ...volume },
    action:
      action.kind === 'snapshot'
        ? { case: 'snapshot', value: { stopped: action.stopped } }
        : { case: 'restore', value: { digest: action.digest } },
  });
}

function appSpec(row: PlacementRow, capabilities: readonly string[]): AppSpec {
  const { live, candidate } = row;
  // Both take effect without a deployment, so no check has refused them for this agent: it works without them.
  const autoscaling = supports(capabilities, 'autoscaling') ? row.autoscaling : null;
  const traffic = supports(capabilities, 'traffic') ? row.traffic : defaultSettings.traffic;
  return create(AppSpecSchema, {
    ...appFields({ autoscaling, traffic }),
    appId: row.appId,
    environmentId: row.environmentId,
    name: row.appName,
    instances: row.instances,
    ...(live === null ? {} : { live: releaseSpec(live, capabilities) }),
    ...(candidate === null ? {} : { candidate: rolloutSpec(candidate, gateHost(row), capabilities) }),
  });
}

/** Host of the gate's requests: the first domain, because apps may refuse hosts that they do not know. */
function gateHost({ domains }: PlacementRow): string {
  return domains.find(({ host }) => !host.startsWith('*.'))?.host ?? 'localhost';
}

function rolloutSpec(row: CandidateRow, host: string, capabilities: readonly string[]): Rollout {
  const { deploymentId, isFirst, isLast, isBack, isProven } = row;
  const { settings, plan } = row.release;
  const release = releaseSpec(row.release, capabilities);
  const { startTimeoutMs, benchmarkGate, releaseCommand, postReleaseCommand, ...strategy } = rolloutFields(settings);
  if (isBack) return create(RolloutSchema, { deploymentId, release, startTimeoutMs });
  // Settings were checked against the agent's capabilities before. A committed file's command is left out if the
  // agent cannot run it.
  const isPlanned = plan.releaseCommand.length > 0 && supports(capabilities, 'hook');
  const planned = isPlanned ? { command: plan.releaseCommand, timeoutMs: plannedHookMs } : undefined;
  const first = releaseCommand ?? planned;
  return create(RolloutSchema, {
    ...strategy,
    deploymentId,
    release,
    startTimeoutMs,
    ...(isProven || benchmarkGate === undefined ? {} : { benchmarkGate: { ...benchmarkGate, host } }),
    ...(isFirst && first !== undefined ? { releaseCommand: first } : {}),
    ...(isLast && postReleaseCommand !== undefined ? { postReleaseCommand } : {}),
  });
}

const plannedHookMs = 10 * 60_000;

/** An agent that knows no plans gets what it always got: a deployment that needs more was refused before. */
function buildSpec(row: BuildRow, capabilities: readonly string[]): BuildSpec {
  const { deploymentId, appId, repositoryUrl, ref, rootFolder, settings } = row;
  const timeoutMs = settings.buildTimeoutMs;
  const plain = { deploymentId, appId, repositoryUrl, ref, rootFolder, timeoutMs };
  if (!supports(capabilities, 'build.plan')) return create(BuildSpecSchema, plain);
  return create(BuildSpecSchema, {
    ...plain,
    environmentId: row.environmentId,
    builder: builders[settings.builder],
    installCommand: [...settings.installCommand],
    buildCommand: [...settings.buildCommand],
    startCommand: [...row.startCommand],
    outputFolder: settings.outputFolder,
    dockerfile: settings.dockerfile,
    image: settings.builder === 'image' ? settings.image : '',
    uploadDigest: row.uploadDigest ?? '',
    withoutCache: row.withoutCache,
    ...(row.secrets === null ? {} : { secrets: row.secrets }),
    ...(row.credentials === null ? {} : { credentials: row.credentials }),
    variables: supports(capabilities, 'build.variables')
      ? { ...variablesIn(settings, 'build'), ...row.systemVariables }
      : {},
    runCommands: [...row.runCommands],
  });
}

function appRoutes(row: RoutedPlacement, capabilities: readonly string[]): RouteSpec[] {
  const { appId, environmentId } = row;
  return row.domains.map((domain) => {
    const {
      host,
      pathPrefix,
      hostPolicy,
      policy: { redirect, ...rest },
    } = supports(capabilities, 'traffic') ? withPlainHttp(domain) : domain;
    // The proxy refuses a redirect that asks who it is; one from before this was checked must not keep other routes back.
    const policy = routePolicy(redirect === null ? rest : { ...rest, basicAuth: null, forwardAuth: null }, hostPolicy);
    return create(RouteSpecSchema, {
      host,
      pathPrefix,
      target:
        redirect === null ? { case: 'app', value: { appId, environmentId } } : { case: 'redirect', value: redirect },
      ...(policy === null ? {} : { policy }),
    });
  });
}

/**
 * A name below `localhost` is served over HTTP too, and without HSTS: its first link works before the browser trusts the server's
 * authority.
 */
function withPlainHttp(domain: DomainRow): DomainRow {
  const { host, policy, hostPolicy } = domain;
  if (isPublicHost(host)) return domain;
  return {
    ...domain,
    policy: { ...policy, servePlainHttp: true },
    ...(hostPolicy === undefined ? {} : { hostPolicy: { ...hostPolicy, hsts: null } }),
  };
}

/** Leaves the policy out, because there is no app to guard. A redirect of a stopped app ends too. */
function stoppedRoutes({ domains, ...row }: RoutedPlacement, capabilities: readonly string[]): RouteSpec[] {
  const policy = storedPolicySchema.parse({});
  return appRoutes(
    { ...row, domains: domains.map(({ host, pathPrefix }) => ({ host, pathPrefix, policy })) },
    capabilities,
  );
}

function controlRoute({ host, pathPrefix, socket }: ControlRoute): RouteSpec {
  return create(RouteSpecSchema, { host, pathPrefix, target: { case: 'controlSocket', value: socket } });
}
