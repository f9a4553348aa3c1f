import { type Capability, capabilities } from '@fairlead/contract/capabilities';
import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { plainPlan, type StoredPlan } from '../benchmark/schema.ts';
import { defaultSettings, type Settings, settingsSchema } from '../config/index.ts';
import { releasePlanSchema } from '../release/index.ts';
import { proxySettingsSchema, routePolicy, storedPolicySchema } from '../traffic/index.ts';
import { missingBuildCapability, missingCapability, policyCapabilities } from './capabilities.ts';
import type { ReleaseRow } from './release-spec.ts';
import {
  type BuildRow,
  type CandidateRow,
  type DesiredRows,
  type PlacementRow,
  toDesiredState,
} from './to-desired-state.ts';

const all = Object.keys(capabilities) as Capability[];
const without = (...names: Capability[]) => all.filter((name) => !names.includes(name));
const plain: ReleaseRow = {
  id: 'rel_1',
  number: 1,
  artifactDigest: `sha256:${'a'.repeat(64)}`,
  artifactKind: 'archive',
  command: ['node', 'server.js'],
  healthPath: '/health',
  settings: defaultSettings,
  plan: releasePlanSchema.parse({}),
  systemVariables: {},
  secrets: null,
};
const empty: DesiredRows = {
  serverId: 'srv_1',
  epoch: 1,
  number: 1n,
  placements: [],
  deploymentUrls: [],
  builds: [],
  benchmarks: [],
  certificates: [],
  accounts: [],
  controlRoutes: [],
  capabilities: all,
  keptArtifacts: [],
  stoppedPlacements: [],
  deletedVolumes: [],
  volumeTasks: [],
  uninstall: null,
  proxy: proxySettingsSchema.parse({}),
  agent: null,
};

const placement: PlacementRow = {
  appId: 'app_1',
  environmentId: 'env_1',
  appName: 'Shop',
  instances: 1,
  live: null,
  candidate: null,
  autoscaling: null,
  traffic: defaultSettings.traffic,
  domains: [],
};

/** State of a server that rolls out one release. */
function rolloutOf(release: Partial<ReleaseRow>, candidate: Partial<CandidateRow> = {}, reported = all) {
  const row = { ...plain, ...release };
  return toDesiredState({
    ...empty,
    capabilities: reported,
    placements: [
      {
        ...placement,
        candidate: {
          deploymentId: 'dep_1',
          release: row,
          isFirst: true,
          isLast: true,
          isBack: false,
          isProven: false,
          ...candidate,
        },
        autoscaling: row.settings.autoscaling,
        traffic: row.settings.traffic,
      },
    ],
  });
}

const command = ['node', 'x.js'];
const digest = `sha256:${'b'.repeat(64)}`;
const rules: readonly (readonly [Capability, object])[] = [
  ['worker', { workers: [{ name: 'mail', command }] }],
  ['liveness', { livenessCheck: { kind: 'tcp' } }],
  ['liveness', { livenessCheck: { kind: 'http', path: '/live' } }],
  ['liveness', { readinessCheck: { kind: 'command', command } }],
  ['volume', { volumes: [{ name: 'data', path: '/data' }] }],
  ['network', { privateNetwork: true }],
  ['network', { serverPorts: ['127.0.0.1:5432'] }],
  ['rollout', { rollout: { kind: 'rolling', batchSize: 1 } }],
  ['rollout', { rollout: { kind: 'canary', stepPercents: [10] } }],
  ['hook', { releaseCommand: { command } }],
  ['hook', { postReleaseCommand: { command } }],
  ['autoscaling', { autoscaling: { instancesMin: 0, instancesMax: 1 } }],
  ['traffic', { traffic: { queueLengthMax: 7 } }],
];

test.each(rules)('%s: an agent without it is refused %j, and the state that has it requires it', (name, changes) => {
  const settings = settingsSchema.parse(changes);
  expect(missingCapability(settings, [])).toBe(name);
  expect(missingCapability(settings, without(name))).toBe(name);
  expect(missingCapability(settings, [name])).toBeNull();
  expect(rolloutOf({ settings }).requires).toEqual(['app', name]);
});

test.each([
  {},
  { readinessCheck: { kind: 'tcp' } },
  { readinessCheck: { kind: 'http', path: '/ready' } },
  { rollout: { kind: 'blue_green' } },
  { listen: 'socket' },
  { variables: { A: 'a' } },
])('every agent runs %j', (changes) => {
  expect(missingCapability(settingsSchema.parse(changes), [])).toBeNull();
});

test('a field of a policy needs the capability of its name', () => {
  const of = (policy: object) => {
    const message = routePolicy(storedPolicySchema.parse(policy));
    return message === null ? [] : policyCapabilities(message);
  };
  expect(of({ compress: true })).toEqual([]);
  expect(of({ forwardAuth: { app: newId('app'), path: '/verify' } })).toEqual(['traffic.forward_auth']);
});

test('of several missing capabilities the check names the same one each time', () => {
  const names = [...new Set(rules.map(([name]) => name))];
  const settings = settingsSchema.parse(Object.assign({}, ...rules.map(([, changes]) => changes)));
  for (const [at, name] of names.entries()) {
    expect(missingCapability(settings, names.slice(0, at))).toBe(name);
    expect(missingCapability(settings, without(...names.slice(at)))).toBe(name);
  }
});

test('a live release and a candidate require what their messages have', () => {
  const settings = settingsSchema.parse({ volumes: [{ name: 'data', path: '/data' }] });
  const placements = [{ ...placement, live: { ...plain, settings } }];
  expect(rolloutOf({}).requires).toEqual(['app']);
  expect(toDesiredState({ ...empty, placements }).requires).toEqual(['app', 'volume']);
  const deletedVolumes = [{ appId: 'app_1', environmentId: 'env_1', name: 'data' }];
  expect(toDesiredState({ ...empty, deletedVolumes }).requires).toEqual(['volume']);
  expect(toDesiredState({ ...empty, uninstall: { withData: true } }).requires).toEqual(['uninstall']);
  expect(toDesiredState({ ...empty, deletedVolumes, placements }).requires).toEqual(['app', 'volume']);
});

test('a rollout back has no commands and no steps, any other has commands on its first and last server only', () => {
  const commands = settingsSchema.parse({ releaseCommand: { command }, postReleaseCommand: { command } });
  const rolling = { rollout: { kind: 'rolling', batchSize: 2 } as const };
  const requires = (settings: Settings, candidate: Partial<CandidateRow>) =>
    rolloutOf({ settings }, candidate).requires;
  expect(requires({ ...commands, ...rolling }, { isBack: true })).toEqual(['app']);
  expect(requires(commands, { isFirst: false, isLast: false })).toEqual(['app']);
  expect(requires(commands, { isFirst: true, isLast: false })).toEqual(['app', 'hook']);
  expect(requires(commands, { isFirst: false, isLast: true })).toEqual(['app', 'hook']);
  const { candidate } = rolloutOf({ settings: commands }, { isFirst: false }).apps[0] ?? {};
  expect([candidate?.releaseCommand, candidate?.postReleaseCommand?.command]).toEqual([undefined, command]);
});

test('findings of a build are left out for an agent that lacks them, and settings take precedence over them', () => {
  const plan = releasePlanSchema.parse({
    workers: [{ name: 'mail', command: ['planned'], instances: 1 }],
    toolchains: ['node@24.4.1'],
    releaseCommand: ['planned'],
    listensOnSocket: true,
  });
  expect(rolloutOf({ plan }).requires).toEqual(['app', 'worker', 'toolchain', 'socket', 'hook']);
  expect(rolloutOf({ plan }, {}, []).requires).toEqual(['app']);
  expect(rolloutOf({ plan, artifactKind: 'image' }).requires).toEqual([
    'app',
    'container',
    'worker',
    'toolchain',
    'hook',
  ]);
  const settings = settingsSchema.parse({ workers: [{ name: 'own', command }], releaseCommand: { command } });
  const { candidate } = rolloutOf({ plan, settings }).apps[0] ?? {};
  expect(candidate?.release?.workers.map(({ name }) => name)).toEqual(['own']);
  expect(candidate?.releaseCommand?.command).toEqual(command);
  expect(rolloutOf({ plan }).apps[0]?.candidate).toMatchObject({
    releaseCommand: { command: ['planned'], timeoutMs: 600_000 },
    release: { workers: [{ name: 'mail' }] },
  });
  expect(rolloutOf({ plan }, { isFirst: false }).apps[0]?.candidate?.releaseCommand).toBeUndefined();
});

test('settings that take effect at once are left out for an agent that lacks them', () => {
  const settings = settingsSchema.parse({
    autoscaling: { instancesMin: 0, instancesMax: 1 },
    traffic: { queueLengthMax: 7 },
  });
  expect(rolloutOf({ settings }, {}, []).requires).toEqual(['app']);
  expect(rolloutOf({ settings }).requires.toSorted()).toEqual(['app', 'autoscaling', 'traffic']);
});

test('a state requires what else it has', () => {
  const requires = (changes: Partial<DesiredRows>) => toDesiredState({ ...empty, ...changes }).requires;
  const plan = {
    host: 'shop.example.test',
    path: '/',
    targets: ['proxy' as const],
    concurrency: [1],
    repeats: 1,
    durationMs: 1000,
    warmupMs: 0,
    protocols: ['http1' as const],
    ...plainPlan,
    thresholds: [],
  };
  const benchmarks = (changes: Partial<StoredPlan>) => ({
    benchmarks: [
      { runId: 'run_1', appId: 'app_1', environmentId: 'env_1', plan: { ...plan, ...changes }, liveReleaseId: 'rel_1' },
    ],
  });
  expect(requires(benchmarks({}))).toEqual(['benchmark']);
  expect(requires(benchmarks({ protocols: ['http1', 'http3'] }))).toEqual(['benchmark', 'benchmark.http3']);
  expect(requires(benchmarks({ protocols: ['grpc'] }))).toEqual(['benchmark', 'benchmark.grpc']);
  for (const changes of [
    { upstream: 'lab' },
    { scenario: 'burst' },
    { connection: 'fresh' },
    { requestsPerSecond: 100 },
  ] as const) {
    expect(requires(benchmarks(changes))).toEqual(['benchmark', 'benchmark.lab']);
  }
  expect(requires(benchmarks({ load: { requests: [], thinkTimeMs: 5, stages: [] } }))).toEqual([
    'benchmark',
    'benchmark.load',
  ]);
  expect(requires(benchmarks({ upstream: 'lab', scenario: 'latency' }))).toEqual([
    'benchmark',
    'benchmark.lab',
    'benchmark.latency',
  ]);
  for (const changes of [
    { upstream: 'lab', scenario: 'packet-loss' },
    { scenario: 'wake' },
    { upstream: 'lab', labApp: { ...plan.labApp, server: 'puma' } },
    { upstream: 'lab', targets: ['spooky'] },
  ] satisfies Partial<StoredPlan>[]) {
    expect(requires(benchmarks(changes))).toEqual(['benchmark', 'benchmark.lab', 'benchmark.scenarios']);
  }
  expect(requires(benchmarks({ upstream: 'lab', targets: ['godoxy'] }))).toEqual([
    'benchmark',
    'benchmark.godoxy',
    'benchmark.lab',
  ]);
  const copy = { upstream: 'lab', labApp: { ...plan.labApp, server: 'release' } } as const;
  expect(requires(benchmarks(copy))).toEqual([
    'benchmark',
    'benchmark.lab',
    'benchmark.lab_release',
    'benchmark.scenarios',
  ]);
  expect(requires({ agent: { version: '1', digest, sizeBytes: 1, signature: '', attempt: 1 } })).toEqual(['upgrade']);
  const domain = (policy: object) => ({
    placements: [
      {
        ...placement,
        live: plain,
        domains: [{ host: 'shop.example.test', pathPrefix: '/', policy: storedPolicySchema.parse(policy) }],
      },
    ],
  });
  expect(requires(domain({}))).toEqual(['app', 'route']);
  expect(requires(domain({ servePlainHttp: true }))).toEqual(['app', 'route', 'traffic']);
  expect(requires(domain({ redirect: { to: 'https://other.example.test' } }))).toEqual(['app', 'route', 'traffic']);
  const secrets = { sealed: new Uint8Array(1), version: '1' };
  expect(requires({ placements: [{ ...placement, live: { ...plain, secrets } }] })).toEqual(['app', 'secret']);
});

const source = { ref: 'main', uploadDigest: null, isSsh: false, hasCredentials: false, hasSecrets: false };
const build: BuildRow = {
  deploymentId: 'dep_1',
  appId: 'app_1',
  repositoryUrl: 'https://git.example.test/shop.git',
  environmentId: 'env_1',
  ref: 'main',
  rootFolder: '',
  uploadDigest: null,
  withoutCache: false,
  startCommand: [],
  runCommands: [],
  settings: defaultSettings,
  systemVariables: {},
  secrets: null,
  credentials: null,
};
test.each<readonly [Capability | null, object, Partial<typeof source> | { uploadDigest: string }]>([
  [null, {}, {}],
  ['build.plan', { builder: 'native' }, {}],
  ['build.plan', { installCommand: command }, {}],
  ['build.plan', { buildCommand: command }, {}],
  ['build.plan', { dockerfile: 'Dockerfile.web' }, {}],
  ['build.plan', { image: 'registry.example/shop' }, {}],
  ['build.plan', { outputFolder: 'dist' }, {}],
  ['build.plan', {}, { uploadDigest: digest }],
  ['build.plan', {}, { isSsh: true }],
  ['build.plan', {}, { hasCredentials: true }],
  ['build.plan', {}, { hasSecrets: true }],
  ['build.variables', { variables: { A: { value: 'a', scope: 'build' } } }, {}],
  [null, { variables: { A: 'a', B: { value: 'b', scope: 'run' } } }, {}],
  ['build.default_branch', {}, { ref: '' }],
  [null, { startCommand: command }, {}],
])('a build needs %s for %j and %j', (name, settings, changes) => {
  expect(missingBuildCapability(settingsSchema.parse(settings), [], { ...source, ...changes })).toBe(name);
});

test('a build of an upload or an image has no default branch, and both need more', () => {
  const missing = (builder: Settings['builder'], reported: readonly Capability[], uploadDigest: string | null) =>
    missingBuildCapability({ ...defaultSettings, builder }, reported, { ...source, ref: '', uploadDigest });
  expect(missing('auto', ['build.plan'], digest)).toBe('transfer');
  expect(missing('auto', ['build.plan', 'transfer'], digest)).toBeNull();
  expect(missing('image', ['build.plan'], null)).toBe('container');
  expect(missing('dockerfile', ['build.plan'], null)).toBe('build.default_branch');
  expect(missing('dockerfile', ['build.plan', 'build.default_branch'], null)).toBe('container');
});

test('a state requires of builds only what it has of them', () => {
  const requires = (changes: Partial<BuildRow>, reported: readonly string[] = all) =>
    toDesiredState({ ...empty, capabilities: reported, builds: [{ ...build, ...changes }] }).requires;
  const image = settingsSchema.parse({ builder: 'image', image: 'registry.example/shop' });
  expect(requires({})).toEqual(['build', 'build.plan']);
  expect(requires({}, [])).toEqual(['build']);
  expect(requires({ ref: '' })).toEqual(['build', 'build.plan', 'build.default_branch']);
  expect(requires({ ref: '' }, [])).toEqual(['build', 'build.default_branch']);
  expect(requires({ ref: '', uploadDigest: digest })).toEqual(['build', 'build.plan']);
  expect(requires({ ref: '', settings: image })).toEqual(['build', 'build.plan']);
  expect(requires({ systemVariables: { FAIRLEAD_APP: 'shop' } })).toEqual(['build', 'build.plan', 'build.variables']);
  expect(requires({ systemVariables: { FAIRLEAD_APP: 'shop' } }, ['build.plan'])).toEqual(['build', 'build.plan']);
  expect(requires({ secrets: { sealed: new Uint8Array(1), version: '1' } })).toEqual(['build', 'secret', 'build.plan']);
});
