import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { DesiredStateSchema } from '@fairlead/contract/agent';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteApp } from '../app/index.ts';
import { defaultSettings, settingsSchema } from '../config/index.ts';
import { attachDomain, detachDomain } from '../domain/index.ts';
import { createSecretSealer } from '../secret/index.ts';
import { type TestWorld, testUrl, testWorld } from '../testing/index.ts';
import { hostPolicySchema, proxySettingsSchema, storedPolicySchema } from '../traffic/index.ts';
import { prepareDesiredState } from './index.ts';
import type { ReleaseRow } from './release-spec.ts';
import { type DesiredRows, toDesiredState } from './to-desired-state.ts';

const release: ReleaseRow = {
  id: 'rel_1',
  number: 3,
  artifactDigest: `sha256:${'a'.repeat(64)}`,
  command: ['node', 'server.js'],
  healthPath: '/health',
  secrets: null,
  artifactKind: 'archive',
  settings: defaultSettings,
  systemVariables: {},
  plan: {
    sentences: [],
    workers: [],
    toolchains: [],
    releaseCommand: [],
    listensOnSocket: false,
    expectedVariables: [],
  },
};
const placement = {
  environmentId: 'env_1',
  instances: 1,
  live: null,
  candidate: null,
  autoscaling: null,
  traffic: defaultSettings.traffic,
  domains: [],
};
const domainsOf = (...hosts: string[]) =>
  hosts.map((host) => ({ host, pathPrefix: '/', policy: storedPolicySchema.parse({}) }));
const rows: DesiredRows = {
  serverId: 'srv_1',
  epoch: 1,
  number: 42n,
  placements: [],
  deploymentUrls: [],
  builds: [],
  benchmarks: [],
  certificates: [],
  accounts: [],
  controlRoutes: [],
  capabilities: [],
  keptArtifacts: [],
  stoppedPlacements: [],
  deletedVolumes: [],
  volumeTasks: [],
  uninstall: null,
  proxy: proxySettingsSchema.parse({}),
  agent: null,
};

test('an empty server needs no capability, and the message survives its own encoding', () => {
  const state = toDesiredState(rows);
  expect(state).toMatchObject({
    version: { epoch: 1, number: 42n },
    serverId: 'srv_1',
    requires: [],
    apps: [],
    routes: [],
  });
  expect(fromBinary(DesiredStateSchema, toBinary(DesiredStateSchema, state))).toEqual(state);
});

test('an app without a release is neither run nor routed to', () => {
  const state = toDesiredState({
    ...rows,
    placements: [
      { ...placement, appId: 'app_1', appName: 'Shop', domains: domainsOf('shop.example.test') },
      { ...placement, appId: 'app_2', appName: 'Blog', domains: domainsOf('blog.example.test'), live: release },
      {
        ...placement,
        appId: 'app_3',
        appName: 'New',
        candidate: { deploymentId: 'dep_1', release, isFirst: true, isLast: true, isBack: false, isProven: false },
      },
    ],
  });
  expect(state.apps.map(({ appId }) => appId)).toEqual(['app_2', 'app_3']);
  expect(state.routes.map(({ host }) => host)).toEqual(['blog.example.test']);
  expect(state.requires).toEqual(['app', 'route']);
  // The agent refuses the whole state for one of these out of its bounds.
  expect(state.apps[0]?.live?.readinessCheck).toMatchObject({ path: '/health', intervalMs: 500, timeoutMs: 2000 });
  expect(state.apps[1]?.candidate?.startTimeoutMs).toBeGreaterThan(0);
});

test('no app takes the host of the control plane', () => {
  const state = toDesiredState({
    ...rows,
    placements: [
      {
        ...placement,
        appId: 'app_1',
        appName: 'Sly',
        domains: domainsOf('fairlead.localhost', 'x.fairlead.localhost', 'sly.test', 'public.test', 'app.public.test'),
        live: release,
      },
    ],
    controlRoutes: [
      { host: 'fairlead.localhost', pathPrefix: '/', socket: 'web', reservesBelow: true },
      { host: 'fairlead.localhost', pathPrefix: '/agent', socket: 'gateway', reservesBelow: true },
      { host: 'public.test', pathPrefix: '/', socket: 'web', reservesBelow: false },
    ],
  });
  expect(state.routes.map(({ host, pathPrefix, target }) => [host, pathPrefix, target.case])).toEqual([
    ['sly.test', '/', 'app'],
    ['app.public.test', '/', 'app'],
    ['fairlead.localhost', '/', 'controlSocket'],
    ['fairlead.localhost', '/agent', 'controlSocket'],
    ['public.test', '/', 'controlSocket'],
  ]);
});

test('a stored redirect with a password is sent without it, and keeps no other route back', () => {
  const redirect = { to: 'https://new.example.test', status: 308, keepPath: true } as const;
  const basicAuth = { realm: '', users: [{ name: 'ada', passwordHash: 'x' }] };
  const policy = { ...storedPolicySchema.parse({}), redirect, basicAuth };
  const domains = [{ host: 'old.example.test', pathPrefix: '/', policy }];
  const { routes } = toDesiredState({
    ...rows,
    placements: [{ ...placement, appId: 'app_1', appName: 'Old', domains, live: release }],
  });
  expect(routes).toMatchObject([{ target: { case: 'redirect' } }]);
  expect(routes[0]?.policy?.basicAuth).toBeUndefined();
});

test('a local name is served over HTTP too and without HSTS, by agents that know policies', () => {
  const hostPolicy = hostPolicySchema.parse({ hsts: { maxAgeSeconds: 60 } });
  const policy = storedPolicySchema.parse({ priority: 'low' });
  const domains = ['shop.localhost', 'shop.example.test'].map((host) => ({
    host,
    pathPrefix: '/',
    policy,
    hostPolicy,
  }));
  const policiesOf = (capabilities: readonly string[]) => {
    const { routes } = toDesiredState({
      ...rows,
      placements: [{ ...placement, appId: 'app_1', appName: 'Shop', domains, live: release }],
      stoppedPlacements: [{ appId: 'app_2', environmentId: 'env_1', domains: domainsOf('old.localhost', 'old.test') }],
      capabilities,
    });
    return routes.map((route) => [route.host, route.policy?.servePlainHttp, route.policy?.hsts?.maxAgeSeconds]);
  };
  expect(policiesOf(['traffic'])).toEqual([
    ['shop.localhost', true, undefined],
    ['shop.example.test', false, 60],
    ['old.localhost', true, undefined],
    ['old.test', undefined, undefined],
  ]);
  expect(policiesOf([]).map(([, servesPlainHttp]) => servesPlainHttp)).toEqual([false, false, undefined, undefined]);
});

test('private network access and server ports are sent as they are set, and need an agent that knows them', () => {
  const live = (changes: object) => {
    const settings = settingsSchema.parse(changes);
    const row = { ...placement, appId: 'app_1', appName: 'Shop', live: { ...release, settings } };
    const { apps, requires } = toDesiredState({ ...rows, placements: [row] });
    return [apps[0]?.live?.privateNetwork, apps[0]?.live?.serverPorts, requires.includes('network')];
  };
  expect(live({})).toEqual([false, [], false]);
  expect(live({ privateNetwork: true })).toEqual([true, [], true]);
  expect(live({ serverPorts: ['5432', '[::1]:6379'] })).toEqual([false, ['127.0.0.1:5432', '[::1]:6379'], true]);
});

test('an app has a socket when its settings say so, else its fairlead.toml, and a container never', () => {
  const live = (changes: Partial<ReleaseRow>, capabilities: readonly string[] = ['socket']) => {
    const row = { ...placement, appId: 'app_1', appName: 'Shop', live: { ...release, ...changes } };
    const state = toDesiredState({ ...rows, placements: [row], capabilities });
    expect(state.requires.includes('socket')).toBe(state.apps[0]?.live?.listensOnSocket);
    return state.apps[0]?.live?.listensOnSocket;
  };
  const settings = (listen: 'auto' | 'port' | 'socket') => ({ settings: { ...defaultSettings, listen } });
  const plan = { ...release.plan, listensOnSocket: true };
  expect([live({}), live(settings('socket')), live({ plan }), live({ ...settings('port'), plan })]).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect([live({ plan, artifactKind: 'image' }), live({ plan }, [])]).toEqual([false, false]);
});

let db: TestDatabase;
let world: TestWorld;
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

test('a route comes and goes with its domain, an app with its deletion, each as a new version', async () => {
  const app = await world.createApp('Shop');
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  const first = await world.desired();
  const domain = await world.tenant((ctx) =>
    attachDomain(
      ctx,
      { appId: app.appId, host: 'shop.example.test', pathPrefix: '/' },
      { localHttpsPort: 4443, localHttpPort: 4480, controlHost: '', publicHost: '' },
    ),
  );
  const attached = await world.desired();
  expect(attached.routes.map(({ host }) => host)).toEqual(['shop.example.test']);
  expect(attached.version?.number).toBe((first.version?.number ?? 0n) + 1n);
  await world.tenant((ctx) => detachDomain(ctx, { domainId: domain.id }));
  expect((await world.desired()).routes).toEqual([]);
  await world.tenant((ctx) => deleteApp(ctx, { appId: app.appId, confirmName: 'Shop' }));
  const last = await world.desired();
  expect(last.apps).toEqual([]);
  expect(last.version?.number).toBe((first.version?.number ?? 0n) + 3n);
});

test('only the local server fronts the control plane', async () => {
  const controlRoutes = [{ host: 'fairlead.localhost', pathPrefix: '/', socket: 'web' as const, reservesBelow: true }];
  const { serverId } = world;
  const sealer = createSecretSealer(world.keys);
  const render = () => prepareDesiredState(world.system, { serverId, controlRoutes, sealer, urlOf: testUrl });
  expect((await render()).routes).toHaveLength(1);
  await world.system(({ tx }) => tx.server.update({ where: { id: serverId }, data: { isLocal: false } }));
  expect((await render()).routes).toEqual([]);
});
