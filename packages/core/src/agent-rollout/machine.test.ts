import { expect, test } from 'vitest';
import type { UpgradeView } from '../server/schema.ts';
import { absenceMaxMs, planWaves, progressOf, type RolloutServer, step } from './machine.ts';

const now = new Date('2026-11-26T08:00:00Z');
const before = (ms: number) => new Date(now.getTime() - ms);

const server = (name: string, changes: Partial<RolloutServer> = {}): RolloutServer => ({
  id: `srv_${name}`,
  name,
  isLocal: false,
  appCount: 1,
  wave: null,
  attempt: null,
  leftOut: null,
  isConnected: true,
  obstacle: null,
  offer: null,
  upgrade: null,
  ...changes,
});
const upgrade = (state: UpgradeView['state'], changes: Partial<UpgradeView> = {}): UpgradeView => ({
  attempt: 1,
  version: '2.0.0',
  digest: 'sha256:new',
  sizeBytes: 3,
  signature: '',
  state,
  step: 'start',
  failureCode: null,
  failureMessage: state === 'failed' ? 'It hung.' : null,
  requestedAt: before(60_000),
  finishedAt: state === 'running' ? null : before(30_000),
  ...changes,
});
const requested = (name: string, wave: number, state: UpgradeView['state'], changes: Partial<RolloutServer> = {}) =>
  server(name, {
    wave,
    attempt: 1,
    upgrade: upgrade(state),
    obstacle: state === 'succeeded' ? 'current' : null,
    ...changes,
  });
const upgraded = (name: string, wave: number, changes: Partial<RolloutServer> = {}) =>
  requested(name, wave, 'succeeded', changes);

const names = (servers: readonly RolloutServer[]) => servers.map(({ name }) => name);
const next = (wave: number, servers: readonly RolloutServer[], waveStartedAt = before(60_000)) =>
  step({ wave, waveStartedAt: wave === 0 ? null : waveStartedAt }, servers, now);
const summary = (wave: number, servers: readonly RolloutServer[], waveStartedAt?: Date) => {
  const result = next(wave, servers, waveStartedAt);
  switch (result.kind) {
    case 'wait':
      return 'wait';
    case 'stop':
      return `stop at ${result.server.name}: ${result.reason}`;
    case 'succeed':
    case 'skip':
      return `${result.kind} without ${names(result.leftOut)}`;
    case 'upgrade':
      return `wave ${result.wave}: ${names(result.servers)} without ${names(result.leftOut)}`;
  }
};

test('one server goes first, then a quarter of all, then the rest', () => {
  const fleet = (count: number) => Array.from({ length: count }, (_, at) => server(`s${String(at).padStart(3, '0')}`));
  const sizes = (count: number) => planWaves(fleet(count)).map((wave) => wave.length);
  expect([0, 1, 2, 3, 4, 7, 8, 9, 100].map(sizes)).toEqual([
    [],
    [1],
    [1, 1],
    [1, 1, 1],
    [1, 1, 2],
    [1, 1, 5],
    [1, 2, 5],
    [1, 2, 6],
    [1, 25, 74],
  ]);
});

test('the server with the fewest apps goes first, and the own server of the control plane last', () => {
  const local = server('local', { isLocal: true, appCount: 0 });
  const [busy, quiet, idle] = [server('busy', { appCount: 9 }), server('quiet', { appCount: 2 }), server('idle')];
  expect(planWaves([local, busy, quiet, idle]).map(names)).toEqual([['idle'], ['quiet'], ['local', 'busy']]);
  expect(planWaves([local, busy, idle]).map(names)).toEqual([['idle'], ['busy'], ['local']]);
  expect(planWaves([local, busy]).map(names)).toEqual([['busy'], ['local']]);
  expect(planWaves([local]).map(names)).toEqual([['local']]);
});

test('servers with the same number of apps go by name, in whatever order they are listed', () => {
  const [a, b, c] = [server('a'), server('b'), server('c')];
  expect(planWaves([c, a, b]).map(names)).toEqual([['a'], ['b'], ['c']]);
});

test('a rollout goes from wave to wave', () => {
  const [b, c, d] = [server('b'), server('c'), server('d')];
  expect(summary(0, [server('a'), b, c, d])).toBe('wave 1: a without ');
  expect(summary(1, [requested('a', 1, 'running'), b, c, d])).toBe('wait');
  expect(summary(1, [upgraded('a', 1), b, c, d])).toBe('wave 2: b without ');
  expect(summary(2, [upgraded('a', 1), upgraded('b', 2), c, d])).toBe('wave 3: c,d without ');
  const third = [requested('c', 3, 'running'), upgraded('d', 3)];
  expect(summary(3, [upgraded('a', 1), upgraded('b', 2), ...third])).toBe('wait');
  expect(summary(3, [upgraded('a', 1), upgraded('b', 2), upgraded('c', 3), upgraded('d', 3)])).toBe('succeed without ');
});

test('a failed upgrade stops the rollout, also while others of its wave run', () => {
  const rest = [server('c'), server('d')];
  expect(summary(1, [requested('a', 1, 'failed'), ...rest])).toBe('stop at a: It hung.');
  expect(summary(2, [upgraded('a', 1), requested('b', 2, 'running'), requested('c', 2, 'failed')])).toBe(
    'stop at c: It hung.',
  );
});

test('a server of the wave must be connected, for a while at most', () => {
  const gone = upgraded('a', 1, { isConnected: false });
  expect(summary(1, [gone, server('b')])).toBe('wait');
  const long = { ...gone, upgrade: upgrade('succeeded', { finishedAt: before(absenceMaxMs + 1) }) };
  const started = before(2 * absenceMaxMs);
  expect(summary(1, [long, server('b')], started)).toBe(
    'stop at a: The server has not been connected since its upgrade.',
  );
  // A retry gives it the same time again.
  expect(summary(1, [long, server('b')], before(1000))).toBe('wait');
  // Servers of former waves count no more.
  expect(summary(2, [long, upgraded('b', 2), server('c')], started)).toBe('wave 3: c without ');
});

test('a server that went offline before its wave is passed over, and another one goes first', () => {
  const offline = server('a', { isConnected: false, obstacle: 'offline' });
  const old = server('b', { obstacle: 'unsupported' });
  expect(summary(0, [offline, old, server('c')])).toBe('wave 1: c without a,b');
  expect(summary(0, [offline])).toBe('skip without a');
  expect(summary(0, [server('a', { leftOut: 'offline' }), server('b')])).toBe('wave 1: b without ');
  expect(summary(1, [upgraded('c', 1), server('d', { obstacle: 'current' })])).toBe('succeed without d');
});

test('a rollout that reached no server does not succeed', () => {
  const offline = server('a', { isConnected: false, obstacle: 'offline' });
  const old = server('b', { obstacle: 'unsupported' });
  expect(summary(0, [offline, old])).toBe('skip without a,b');
  expect(summary(0, [{ ...offline, leftOut: 'offline' }])).toBe('skip without ');
  expect(summary(0, [])).toBe('skip without ');
  // One was upgraded from its page meanwhile.
  expect(summary(0, [offline, server('c', { obstacle: 'current' })])).toBe('succeed without a,c');
  expect(summary(1, [upgraded('c', 1, { obstacle: null }), offline])).toBe('succeed without a');
});

test('a removed server leaves its wave, and the next first server goes alone', () => {
  const rest = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map((name) => server(name));
  expect(summary(1, rest)).toBe('wave 2: b without ');
});

test('a retried server is requested again in its wave, and stops the rollout again if it can’t be', () => {
  const again = { wave: 1, attempt: null, upgrade: upgrade('failed') };
  expect(summary(1, [server('a', again), server('b')])).toBe('wave 1: a without ');
  const offline = { ...again, isConnected: false, obstacle: 'offline' } as const;
  expect(summary(1, [server('a', offline), server('b')])).toBe('stop at a: The server is not connected.');
  expect(summary(1, [server('a', { ...again, obstacle: 'current' }), server('b')])).toBe('wave 2: b without ');
});

test('an upgrade that a member requested counts as soon as the server’s wave has started', () => {
  const running = upgrade('running');
  expect(progressOf(server('a', { upgrade: running }))).toBe('waiting');
  expect(progressOf(server('a', { wave: 1, upgrade: running }))).toBe('upgrading');
  expect(summary(1, [server('a', { wave: 1, upgrade: running }), server('b')])).toBe('wait');
  // It ended with another program or failed: the rollout requests its own.
  expect(summary(1, [server('a', { wave: 1, upgrade: upgrade('failed') }), server('b')])).toBe('wave 1: a without ');
  const later = { wave: 1, attempt: 1, upgrade: upgrade('succeeded', { attempt: 2 }) };
  expect(summary(1, [server('a', later), server('b')])).toBe('wave 2: b without ');
  const former = { wave: 1, attempt: 2, upgrade: upgrade('failed', { attempt: 1 }) };
  expect(progressOf(server('a', former))).toBe('waiting');
});

test('every rollout of any size that never fails upgrades each server once', () => {
  for (let count = 1; count <= 40; count += 1) {
    let servers = Array.from({ length: count }, (_, at) => server(`s${at}`, { isLocal: at === 3, appCount: at % 5 }));
    const planned = planWaves(servers).map(names);
    const seen: string[][] = [];
    for (let wave = 0; ; wave += 1) {
      const result = next(wave, servers);
      if (result.kind !== 'upgrade') {
        expect(result).toEqual({ kind: 'succeed', leftOut: [] });
        break;
      }
      seen.push(names(result.servers));
      const taken = new Set(names(result.servers));
      servers = servers.map((each) =>
        taken.has(each.name) ? upgraded(each.name, wave + 1, each.isLocal ? { isLocal: true } : {}) : each,
      );
    }
    expect(seen).toEqual(planned);
    expect(seen.flat().sort()).toEqual(servers.map(({ name }) => name).sort());
    expect(seen.length).toBeLessThanOrEqual(3);
  }
});
