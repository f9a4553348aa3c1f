import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { AgentStatusSchema, WorkState } from '@fairlead/contract/agent';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findTransfer, hashTransferToken, pruneArtifacts, recordArtifact } from '../artifact/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { type AgentOffer, endLostUpgrades, getServer, upgradeServer } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const offer: AgentOffer = {
  target: 'linux-x64',
  version: '2.0.0',
  digest: digestOf('new'),
  sizeBytes: 3,
  signature: 'signed',
};
const offers = [offer, { ...offer, target: 'linux-arm64' as const, digest: digestOf('arm') }];
const token = 'a'.repeat(32);

const change = (data: object) =>
  world.system(({ tx }) => tx.server.update({ where: { id: world.serverId }, data, select: { id: true } }));
const upgrade = () => world.tenant((ctx) => upgradeServer(ctx, { serverId: world.serverId }, offers));
const server = () => world.tenant((ctx) => getServer(ctx, { serverId: world.serverId }, { offers }));
const transfer = (digest: string) =>
  world.system((ctx) => findTransfer(ctx, { token, digest, deploymentId: null, volumeTaskId: null }));
const tell = (digest: string, told?: { attempt: number; state: WorkState; step: string; message?: string }) =>
  world.report({
    agent: create(AgentStatusSchema, {
      digest,
      ...(told === undefined
        ? {}
        : {
            upgrade: {
              ...told,
              ...(told.message === undefined ? {} : { failure: { code: 'upgrade.silent', message: told.message } }),
            },
          }),
    }),
  });

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  await change({
    capabilities: ['upgrade'],
    hostInfo: { arch: 'x86_64' },
    transferTokenHash: hashTransferToken(token),
  });
  await tell(digestOf('old'));
});
afterAll(() => db.drop());

test('an impossible upgrade is refused with its own sentence', async () => {
  const code = async (data: object, back: object) => {
    await change(data);
    const refused = await upgrade().catch((error: { code: string }) => error.code);
    await change(back);
    return refused;
  };
  expect(await code({ capabilities: ['app'] }, { capabilities: ['upgrade'] })).toBe('server.upgrade_unsupported');
  expect(await code({ connectedGateway: null }, { connectedGateway: 'test-gateway' })).toBe('server.not_connected');
  const x64 = { hostInfo: { arch: 'x86_64' } };
  expect(await code({ hostInfo: { arch: 'riscv64' } }, x64)).toBe('server.upgrade_none');
  const old = { agentDigest: digestOf('old') };
  expect(await code({ agentDigest: offer.digest }, old)).toBe('server.upgrade_current');
  expect((await world.desired()).agent).toBeUndefined();
});

test('a requested agent is offered and readable until the server reports the end', async () => {
  expect(await server()).toMatchObject({ offeredAgent: { version: '2.0.0', digest: offer.digest }, upgrade: null });
  expect((await transfer(offer.digest))?.mayRead).toBe(false);
  const before = await world.desired();
  await upgrade();
  const wanted = await world.desired();
  expect(wanted.version?.number).toBeGreaterThan(before.version?.number ?? 0n);
  expect(wanted).toMatchObject({
    requires: expect.arrayContaining(['upgrade']),
    agent: { version: '2.0.0', digest: offer.digest, sizeBytes: 3n, attempt: 1, signature: 'signed' },
  });
  expect(await transfer(offer.digest)).toMatchObject({ mayRead: true, mayWrite: false });
  expect((await transfer(digestOf('arm')))?.mayRead).toBe(false);
  await expect(upgrade()).rejects.toMatchObject({ code: 'server.upgrade_under_way' });

  await tell(digestOf('old'), { attempt: 1, state: WorkState.RUNNING, step: 'check' });
  expect((await server()).upgrade).toMatchObject({ state: 'running', step: 'check' });
  await tell(digestOf('old'), { attempt: 1, state: WorkState.FAILED, step: 'start', message: 'It hung.' });
  const failed = await server();
  expect(failed.upgrade).toMatchObject({ state: 'failed', failureMessage: 'It hung.', failureCode: 'upgrade.silent' });
  expect((await world.desired()).agent).toBeUndefined();
  expect((await transfer(offer.digest))?.mayRead).toBe(false);
});

test('a later request is another attempt, and a report of a former one changes nothing', async () => {
  await upgrade();
  expect((await world.desired()).agent?.attempt).toBe(2);
  await tell(digestOf('old'), { attempt: 1, state: WorkState.SUCCEEDED, step: 'start' });
  expect((await server()).upgrade).toMatchObject({ attempt: 2, state: 'running', step: 'fetch' });
  await tell(offer.digest, { attempt: 2, state: WorkState.SUCCEEDED, step: 'start' });
  expect(await server()).toMatchObject({
    agentDigest: offer.digest,
    offeredAgent: null,
    upgrade: { attempt: 2, state: 'succeeded', failureMessage: null },
  });
});

test('a program that is on its way is not pruned, and a silent server does not wait for ever', async () => {
  await tell(digestOf('old'));
  await upgrade();
  await world.system((ctx) =>
    recordArtifact(forOrganization(ctx, world.organizationId), { digest: offer.digest, kind: 'agent', sizeBytes: 3 }),
  );
  const prune = async () => (await world.system((ctx) => pruneArtifacts(ctx))).map(({ hex }) => `sha256:${hex}`);
  await prune();
  world.clock.forward(25 * 60 * 60_000);
  expect(await prune()).toEqual([]);
  const lost = { state: 'failed', failureCode: 'upgrade.lost' };
  expect((await server()).upgrade).toMatchObject(lost);
  const shown = await world.desired();
  expect(shown.agent).toBeUndefined();
  const sweep = () => world.system(endLostUpgrades);
  expect([await sweep(), await sweep()]).toEqual([1, 0]);
  // Also a server that has waited all the time must not do it now.
  expect((await world.desired()).version?.number).toBeGreaterThan(shown.version?.number ?? 0n);
  expect((await transfer(offer.digest))?.mayRead).toBe(false);
  await tell(digestOf('old'), { attempt: 3, state: WorkState.FAILED, step: 'start', message: 'Late.' });
  expect((await server()).upgrade).toMatchObject({ ...lost, attempt: 3 });
  await tell(digestOf('old'), { attempt: 3, state: WorkState.SUCCEEDED, step: 'start' });
  expect((await server()).upgrade).toMatchObject({ state: 'succeeded', failureCode: null });
  await change({ lastSeenAt: world.clock.now() });
  await upgrade();
  await tell(digestOf('old'), { attempt: 4, state: WorkState.SUCCEEDED, step: 'start' });
  await prune();
  world.clock.forward(25 * 60 * 60_000);
  expect(await prune()).toEqual([offer.digest]);
});
