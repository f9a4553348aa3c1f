// Capabilities that messages need, and the check of settings against them before a deployment. Pure.
// Invariant: messages that need a capability go only to agents that reported it, because an agent refuses the whole
// state for one that it lacks.
import { create, isFieldSet } from '@bufbuild/protobuf';
import {
  type AppSpec,
  AppSpecSchema,
  ArtifactKind,
  BenchmarkConnection,
  type BenchmarkPlan,
  BenchmarkProtocol,
  BenchmarkRole,
  BenchmarkScenario,
  BenchmarkServer,
  BenchmarkTarget,
  Builder,
  type BuildSpec,
  type DesiredState,
  type ReleaseSpec,
  type Rollout,
} from '@fairlead/contract/agent';
import { type Capability, capabilities, supports } from '@fairlead/contract/capabilities';
import { type RoutePolicy, RoutePolicySchema } from '@fairlead/contract/traffic';
import { opensNetwork, type Settings } from '../config/index.ts';
import { appFields, builders, releaseFields, rolloutFields } from './settings-fields.ts';

type Rules<Message> = readonly (readonly [name: Capability, needs: (message: Message) => boolean])[];

const stateRules: Rules<DesiredState> = [
  ['app', ({ apps }) => apps.length > 0],
  ['route', ({ routes }) => routes.length > 0],
  // Without policies a page behind a password would be open to all, so an agent that lacks the capability gets no state.
  [
    'traffic',
    ({ proxy, routes }) =>
      proxy !== undefined || routes.some(({ policy, target }) => policy !== undefined || target.case === 'redirect'),
  ],
  ['build', ({ builds }) => builds.length > 0],
  ['volume.snapshot', ({ volumeTasks }) => volumeTasks.length > 0],
  ['certificate', ({ certificates }) => certificates.length > 0],
  ['volume', ({ deletedVolumes }) => deletedVolumes.length > 0],
  ['upgrade', ({ agent }) => agent !== undefined],
  ['uninstall', ({ uninstall }) => uninstall !== undefined],
];

const benchmarkRules: Rules<BenchmarkPlan> = [
  ['benchmark', () => true],
  ['benchmark.distributed', ({ part }) => part !== undefined],
  // Load servers accept its address only if its proxy answers the port check.
  ['certificate.challenge', ({ part }) => part?.role === BenchmarkRole.MEASURE],
  ['benchmark.godoxy', ({ targets }) => targets.includes(BenchmarkTarget.GODOXY)],
  ['benchmark.grpc', ({ protocols }) => protocols.includes(BenchmarkProtocol.GRPC)],
  ['benchmark.http3', ({ protocols }) => protocols.includes(BenchmarkProtocol.HTTP3)],
  ['benchmark.lab', needsLab],
  [
    'benchmark.load',
    ({ requests, thinkTimeMs, stages }) => requests.length > 0 || thinkTimeMs > 0 || stages.length > 0,
  ],
  ['benchmark.lab_release', ({ lab }) => lab?.server === BenchmarkServer.RELEASE],
  ['benchmark.latency', ({ scenario }) => scenario === BenchmarkScenario.LATENCY],
  ['benchmark.scenarios', needsScenarios],
  ['benchmark.workers', ({ workers }) => workers > 0],
];

/** An older agent would measure the plain matrix instead. */
function needsLab({ lab, scenario, connection, requestsPerSecond }: BenchmarkPlan): boolean {
  const isPlain = scenario === BenchmarkScenario.UNSPECIFIED && connection === BenchmarkConnection.UNSPECIFIED;
  return lab !== undefined || !isPlain || requestsPerSecond > 0;
}

/** True for plans that an older agent would refuse, or measure with its own app and without the emulated link. */
function needsScenarios({ lab, scenario, targets }: BenchmarkPlan): boolean {
  return (
    scenario === BenchmarkScenario.PACKET_LOSS ||
    scenario === BenchmarkScenario.WAKE ||
    (lab !== undefined && lab.server !== BenchmarkServer.UNSPECIFIED) ||
    targets.includes(BenchmarkTarget.KAMAL_PROXY) ||
    targets.includes(BenchmarkTarget.SPOOKY)
  );
}

const releaseRules: Rules<ReleaseSpec> = [
  ['secret', ({ secrets }) => secrets !== undefined],
  ['container', ({ artifactKind }) => artifactKind === ArtifactKind.IMAGE],
  ['worker', ({ workers }) => workers.length > 0],
  [
    'liveness',
    ({ livenessCheck, readinessCheck }) => livenessCheck !== undefined || (readinessCheck?.command.length ?? 0) > 0,
  ],
  ['toolchain', ({ toolchains }) => toolchains.length > 0],
  ['socket', ({ listensOnSocket }) => listensOnSocket],
  ['volume', ({ volumes }) => volumes.length > 0],
  ['network', opensNetwork],
];

const rolloutRules: Rules<Rollout> = [
  ['benchmark.gate', ({ benchmarkGate }) => benchmarkGate !== undefined],
  [
    'benchmark.gate_relative',
    ({ benchmarkGate }) => benchmarkGate?.thresholds.some(({ relative }) => relative) ?? false,
  ],
  ['rollout', ({ batchSize, canary }) => batchSize > 0 || canary !== undefined],
  [
    'hook',
    ({ releaseCommand, postReleaseCommand }) => releaseCommand !== undefined || postReleaseCommand !== undefined,
  ],
];

const appRules: Rules<AppSpec> = [
  ['autoscaling', ({ autoscaling }) => autoscaling !== undefined],
  ['traffic', ({ traffic }) => traffic !== undefined],
  ['deployment_url', ({ releaseEnvironmentId }) => releaseEnvironmentId !== ''],
];

const buildRules: Rules<BuildSpec> = [
  ['secret', ({ secrets }) => secrets !== undefined],
  ['build.plan', ({ environmentId }) => environmentId !== ''],
  ['build.variables', ({ variables }) => Object.keys(variables).length > 0],
  ['build.default_branch', buildsDefaultBranch],
];

/**
 * Returns the capabilities that a route's policy needs. A field whose filter an older agent would leave out, so that it
 * lets pass what the filter rejects, has a capability of its name.
 */
export function policyCapabilities(policy: RoutePolicy): Capability[] {
  const names = RoutePolicySchema.fields
    .filter((field) => isFieldSet(policy, field))
    .map(({ name }) => `traffic.${name}`);
  return (Object.keys(capabilities) as Capability[]).filter((name) => names.includes(name));
}

/** Returns the capabilities that the state needs from the agent, beyond the base protocol. */
export function requiredCapabilities(state: DesiredState): Capability[] {
  const { apps, benchmarks, builds, routes } = state;
  const policies = routes.flatMap(({ policy }) => (policy === undefined ? [] : [policy]));
  const names = [
    ...needed(stateRules, [state]),
    ...policies.flatMap(policyCapabilities),
    ...neededByApps(apps),
    ...needed(buildRules, builds),
    ...needed(benchmarkRules, benchmarks),
  ];
  return [...new Set(names)];
}

/**
 * Returns the first capability that these settings need and the agent did not report; null: it has all. The rules are
 * those of a state: they read the messages that the settings alone become.
 */
export function missingCapability(settings: Settings, reported: readonly string[]): Capability | null {
  const release = releaseFields(settings, '');
  const app = create(AppSpecSchema, {
    ...appFields(settings),
    candidate: { ...rolloutFields(settings), release },
  });
  return neededByApps([app]).find((name) => !supports(reported, name)) ?? null;
}

/** Tells if an agent can run an app. It refuses the whole state for one that it can't. */
export function canRun(app: AppSpec, reported: readonly string[]): boolean {
  return neededByApps([app]).every((name) => supports(reported, name));
}

/** Returns the first capability that a benchmark needs and the agent did not report; null: it has all. */
export function missingBenchmarkCapability(plan: BenchmarkPlan, reported: readonly string[]): Capability | null {
  return needed(benchmarkRules, [plan]).find((name) => !supports(reported, name)) ?? null;
}

export interface BuildSource {
  /** Branch, tag or commit; empty: the default branch. */
  readonly ref: string;
  /** Null for a repository or an image. */
  readonly uploadDigest: string | null;
  readonly isSsh: boolean;
  readonly hasCredentials: boolean;
  /** Some are marked for builds. */
  readonly hasSecrets: boolean;
}

/**
 * Returns the same for a build. Two rules differ from those of a state, which requires what a message has: an agent gets
 * the fields of a plan and all variables as soon as it supports them. Here they count only if the build depends on them.
 */
export function missingBuildCapability(
  settings: Settings,
  reported: readonly string[],
  { ref, uploadDigest, isSsh, hasCredentials, hasSecrets }: BuildSource,
): Capability | null {
  const { builder } = settings;
  const isUpload = uploadDigest !== null;
  const needs: readonly (readonly [name: Capability, needed: boolean])[] = [
    ['build.plan', needsPlan(settings) || isUpload || isSsh || hasCredentials || hasSecrets],
    // Variables of both scopes reached no build before, so an agent without it works as before.
    ['build.variables', Object.values(settings.variables).some(({ scope }) => scope === 'build')],
    [
      'build.default_branch',
      buildsDefaultBranch({ ref, builder: builders[builder], uploadDigest: uploadDigest ?? '' }),
    ],
    ['transfer', isUpload],
    // No state requires an engine for a build: without one, that build alone fails.
    ['container', builder === 'image' || builder === 'dockerfile'],
  ];
  return needs.find(([name, isNeeded]) => isNeeded && !supports(reported, name))?.[0] ?? null;
}

/** Returns a sentence that says what to do when a server lacks a capability. */
export function missingCapabilityMessage(serverName: string, capability: Capability): string {
  return capability === 'container'
    ? `${serverName} has no container engine that answers, and this app runs as a container. Install Docker on ${serverName}; a minute later, deploy again.`
    : `The agent of ${serverName} lacks “${capability}”, which the settings of this app need. Upgrade it, then deploy again.`;
}

function neededByApps(apps: readonly AppSpec[]): Capability[] {
  const rollouts = apps.flatMap(({ candidate }) => candidate ?? []);
  const releases = [...apps.map(({ live }) => live), ...rollouts.map(({ release }) => release)];
  return [
    ...needed(
      releaseRules,
      releases.filter((release) => release !== undefined),
    ),
    ...needed(rolloutRules, rollouts),
    ...needed(appRules, apps),
  ];
}

function needed<Message>(rules: Rules<Message>, messages: readonly Message[]): Capability[] {
  return rules.flatMap(([name, needs]) => (messages.some(needs) ? [name] : []));
}

function buildsDefaultBranch({
  ref,
  builder,
  uploadDigest,
}: Pick<BuildSpec, 'ref' | 'builder' | 'uploadDigest'>): boolean {
  return ref === '' && builder !== Builder.IMAGE && uploadDigest === '';
}

/** Words of a build beyond repository, ref and root folder. */
function needsPlan(settings: Settings): boolean {
  const { builder, installCommand, buildCommand, dockerfile, image, outputFolder } = settings;
  return (
    builder !== 'auto' ||
    installCommand.length > 0 ||
    buildCommand.length > 0 ||
    dockerfile !== '' ||
    image !== '' ||
    outputFolder !== ''
  );
}
