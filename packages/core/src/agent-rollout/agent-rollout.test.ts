import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { AgentStatusSchema, ReportSchema, WorkState } from '@fairlead/contract/agent';
import { newId, type ServerId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pruneArtifacts, recordArtifact } from '../artifact/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { recordReport } from '../link/index.ts';
import { type AgentOffer, deleteServer, endLostUpgrades, upgradeServer } from '../server/index.ts';
import { auditOf, type TestWorld, testWorld } from '../testing/index.ts';
import {
  type AgentRolloutRef,
  advanceAgentRollout,
  cancelAgentRollout,
  getAgentRollout,
  listRunningRollouts,
  retryAgentRollout,
  startAgentRollout,
} from './index.ts';

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const offer: AgentOffer = {
  target: 'linux-x64',
  version: '2.0.0',
  digest: digestOf('new'),
  sizeBytes: 3,
  signature: '',
};
const arm: AgentOffer = { ...offer, target: 'linux-arm64', digest: digestOf('arm') };
const offers = [offer, arm];

let db: TestDatabase;
let world: TestWorld;
let ids: Record<string, ServerId>;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  ids = { local: world.serverId };
  await change('local', able());
  for (const name of ['east', 'west', 'north']) await add(name);
});
afterEach(() => db.drop());

const able = () => ({
  capabilities: ['upgrade'],
  hostInfo: { arch: 'x86_64' },
  agentDigest: digestOf('old'),
  connectedGateway: 'test-gateway',
  lastSeenAt: world.clock.now(),
});
const idOf = (name: string): ServerId => ids[name] ?? world.serverId;
async function add(name: string, changes: object = {}): Promise<void> {
  const id = newId('srv');
  ids[name] = id;
  const own = { id, organizationId: world.organizationId, name, publicKey: Buffer.from(id) };
  await world.system(({ tx }) => tx.server.create({ data: { ...own, ...able(), ...changes } }));
}
const change = (name: string, data: object) =>
  world.system(({ tx }) => tx.server.update({ where: { id: idOf(name) }, data, select: { id: true } }));

const start = (which = offers) => world.tenant((ctx) => startAgentRollout(ctx, which));
const advance = (rollout: AgentRolloutRef) => world.tenant((ctx) => advanceAgentRollout(ctx, rollout));
const overview = (which = offers) => world.tenant((ctx) => getAgentRollout(ctx, which));
const progress = async () =>
  Object.fromEntries(((await overview()).rollout?.servers ?? []).map((each) => [each.name, each.progress]));
const actions = async () => (await auditOf(world)).filter((action) => action.startsWith('agent_rollout.'));

/** Reports as the agent of the server does: with the new program, or with the former one and a reason. */
async function tell(name: string, state: WorkState, message = ''): Promise<void> {
  const { upgrade } = await world.system(({ tx }) => tx.server.findUniqueOrThrow({ where: { id: idOf(name) } }));
  const { attempt } = upgrade as { attempt: number };
  const agent = create(AgentStatusSchema, {
    digest: state === WorkState.SUCCEEDED ? offer.digest : digestOf('old'),
    upgrade: {
      attempt,
      state,
      step: 'start',
      ...(message === '' ? {} : { failure: { code: 'upgrade.silent', message } }),
    },
  });
  const report = create(ReportSchema, { agent });
  await world.system((ctx) => recordReport(ctx, { serverId: idOf(name), report }));
}
const succeed = (name: string) => tell(name, WorkState.SUCCEEDED);
const fail = (name: string, message: string) => tell(name, WorkState.FAILED, message);

test('the waves are shown before the start, with the servers that are left out', async () => {
  await add('off', { lastSeenAt: new Date(0) });
  await add('old', { capabilities: ['app'] });
  await add('odd', { hostInfo: { arch: 'riscv64' } });
  await add('done', { agentDigest: offer.digest });
  const { rollout, available } = await overview();
  expect(rollout).toBeNull();
  expect(available).toMatchObject({ version: '2.0.0' });
  expect(available?.waves.map((wave) => wave.map(({ name }) => name))).toEqual([
    ['east'],
    ['north'],
    ['local', 'west'],
  ]);
  expect(available?.leftOut.map(({ name, reason }) => [name, reason])).toEqual([
    ['odd', 'no_program'],
    ['off', 'offline'],
    ['old', 'unsupported'],
  ]);
});

test('a rollout upgrades one server, then a share, then all', async () => {
  const { offers: needed, ...rollout } = await start();
  expect(needed).toEqual([offer]);
  await expect(start()).rejects.toMatchObject({ code: 'agent_rollout.running' });
  expect(await overview()).toMatchObject({ available: null, rollout: { state: 'running', wave: 0, waveCount: 3 } });

  expect([await advance(rollout), await advance(rollout)]).toEqual(['upgrade', 'wait']);
  expect(await progress()).toEqual({ east: 'upgrading', local: 'waiting', north: 'waiting', west: 'waiting' });
  await succeed('east');
  expect([await advance(rollout), await advance(rollout)]).toEqual(['upgrade', 'wait']);
  await succeed('north');
  await advance(rollout);
  expect(await progress()).toEqual({ east: 'upgraded', north: 'upgraded', local: 'upgrading', west: 'upgrading' });
  expect((await overview()).rollout).toMatchObject({ wave: 3, waveCount: 3 });
  await succeed('west');
  expect(await advance(rollout)).toBe('wait');
  await succeed('local');
  expect([await advance(rollout), await advance(rollout)]).toEqual(['succeed', null]);
  expect(await overview()).toMatchObject({ available: null, rollout: { state: 'succeeded', isOffered: true } });
  const waves = ['agent_rollout.advance', 'agent_rollout.advance', 'agent_rollout.advance'];
  expect(await actions()).toEqual(['agent_rollout.start', ...waves, 'agent_rollout.end']);
  // The end is shown for an hour.
  world.clock.forward(60 * 60_000 + 1);
  expect((await overview()).rollout).toBeNull();
});

test('two workers take one step', async () => {
  const rollout = await start();
  const steps = await Promise.all([advance(rollout), advance(rollout), advance(rollout)]);
  expect(steps.sort()).toEqual(['upgrade', 'wait', 'wait']);
  const row = await world.system(({ tx }) => tx.server.findUniqueOrThrow({ where: { id: idOf('east') } }));
  expect(row.upgrade).toMatchObject({ attempt: 1 });
  expect(await world.system(listRunningRollouts)).toEqual([
    { rolloutId: rollout.rolloutId, organizationId: world.organizationId },
  ]);
});

test('a failed upgrade stops the rollout; a retry begins with that server', async () => {
  const rollout = await start();
  await advance(rollout);
  await fail('east', 'It hung.');
  expect([await advance(rollout), await advance(rollout)]).toEqual(['stop', null]);
  expect((await overview()).rollout).toMatchObject({ state: 'stopped', failedServer: 'east', reason: 'It hung.' });
  expect(await progress()).toEqual({ east: 'failed', local: 'waiting', north: 'waiting', west: 'waiting' });
  expect(await world.system(listRunningRollouts)).toEqual([]);

  const retry = () => world.tenant((ctx) => retryAgentRollout(ctx, rollout));
  await retry();
  await expect(retry()).rejects.toMatchObject({ code: 'agent_rollout.not_stopped' });
  expect(await advance(rollout)).toBe('upgrade');
  expect(await progress()).toMatchObject({ east: 'upgrading', north: 'waiting' });
  await succeed('east');
  expect(await advance(rollout)).toBe('upgrade');
  expect(await progress()).toMatchObject({ east: 'upgraded', north: 'upgrading', west: 'waiting' });
  expect((await actions()).filter((action) => /fail|retry/.test(action))).toEqual([
    'agent_rollout.fail',
    'agent_rollout.retry',
  ]);
});

test('a lost upgrade stops the rollout too', async () => {
  const rollout = await start();
  await advance(rollout);
  world.clock.forward(61 * 60_000);
  await world.system(endLostUpgrades);
  expect(await advance(rollout)).toBe('stop');
  expect((await overview()).rollout).toMatchObject({ state: 'stopped', failedServer: 'east' });
});

test('a cancelled rollout starts nothing more, and the running upgrade ends by itself', async () => {
  const rollout = await start();
  await advance(rollout);
  const cancel = () => world.tenant((ctx) => cancelAgentRollout(ctx, rollout));
  await cancel();
  await expect(cancel()).rejects.toMatchObject({ code: 'agent_rollout.ended' });
  expect(await advance(rollout)).toBeNull();
  await succeed('east');
  const { rollout: ended, available } = await overview();
  expect(ended?.state).toBe('cancelled');
  expect(available?.waves.flat().map(({ name }) => name)).toEqual(['north', 'west', 'local']);
});

test('a new rollout replaces one that has stopped', async () => {
  const stopped = await start();
  await advance(stopped);
  await fail('east', 'It hung.');
  await advance(stopped);
  const better = [{ ...offer, version: '2.0.1', digest: digestOf('better') }];
  expect(await overview(better)).toMatchObject({
    rollout: { version: '2.0.0', isOffered: false },
    available: { version: '2.0.1' },
  });
  world.clock.forward(1000);
  await start(better);
  await expect(world.tenant((ctx) => retryAgentRollout(ctx, stopped))).rejects.toMatchObject({
    code: 'agent_rollout.not_stopped',
  });
  expect((await overview(better)).rollout).toMatchObject({ version: '2.0.1', state: 'running' });
});

test('a rollout whose servers are all offline by then ends as skipped, and names them', async () => {
  const rollout = await start();
  for (const name of Object.keys(ids)) await change(name, { lastSeenAt: new Date(0) });
  expect([await advance(rollout), await advance(rollout)]).toEqual(['skip', null]);
  const ended = (await overview()).rollout;
  expect(ended).toMatchObject({ state: 'skipped', finishedAt: world.clock.now(), servers: [], reason: null });
  expect(ended?.leftOut.map(({ name, reason }) => `${name} ${reason}`)).toEqual([
    'east offline',
    'local offline',
    'north offline',
    'west offline',
  ]);
  expect(await actions()).toEqual(['agent_rollout.start', 'agent_rollout.end']);
  for (const name of Object.keys(ids)) await change(name, able());
  await start();
});

test('an upgrade from the server’s page is not disturbed, and a removed server leaves the rollout', async () => {
  await world.tenant((ctx) => upgradeServer(ctx, { serverId: idOf('east') }, offers));
  const rollout = await start();
  expect([await advance(rollout), await advance(rollout)]).toEqual(['upgrade', 'wait']);
  await fail('east', 'It hung.');
  // That was the member's attempt; the rollout makes its own.
  expect(await advance(rollout)).toBe('upgrade');
  await succeed('east');
  await world.tenant((ctx) => deleteServer(ctx, { serverId: idOf('west'), confirmName: 'west' }));
  await advance(rollout);
  await succeed('north');
  await advance(rollout);
  await succeed('local');
  expect(await advance(rollout)).toBe('succeed');
  expect(await progress()).toEqual({ east: 'upgraded', north: 'upgraded', local: 'upgraded' });
});

test('each kind of machine gets its own program', async () => {
  await change('west', { hostInfo: { arch: 'aarch64' } });
  const { offers: needed, ...rollout } = await start();
  expect(needed).toEqual(offers);
  for (const name of ['east', 'north']) {
    await advance(rollout);
    await succeed(name);
  }
  await advance(rollout);
  const row = await world.system(({ tx }) => tx.server.findUniqueOrThrow({ where: { id: idOf('west') } }));
  expect(row.upgrade).toMatchObject({ digest: arm.digest });
});

test('without a server that can be upgraded there is no rollout', async () => {
  for (const name of Object.keys(ids)) await change(name, { agentDigest: offer.digest });
  await expect(start()).rejects.toMatchObject({ code: 'agent_rollout.nothing' });
  expect(await overview()).toEqual({ rollout: null, available: null });
});

test('programs of a running or stopped rollout are not pruned', async () => {
  const rollout = await start();
  await world.system((ctx) =>
    recordArtifact(forOrganization(ctx, world.organizationId), { digest: offer.digest, kind: 'agent', sizeBytes: 3 }),
  );
  const prune = async () => (await world.system((ctx) => pruneArtifacts(ctx))).map(({ hex }) => `sha256:${hex}`);
  const later = async () => {
    await prune();
    world.clock.forward(25 * 60 * 60_000);
    return prune();
  };
  expect(await later()).toEqual([]);
  await world.tenant((ctx) => cancelAgentRollout(ctx, rollout));
  expect(await later()).toEqual([offer.digest]);
});
