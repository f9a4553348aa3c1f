// Inspections of sources: permissions, rate limit, and the query that reaches the server.
import { testWorld } from '@fairlead/core/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRateLimit } from './index.ts';
import { startTestApi, type TestApi } from './testing/index.ts';

const repositoryUrl = 'https://git.example/shop.git';

let api: TestApi;
let cookie: string;

beforeAll(async () => {
  api = await startTestApi();
  ({ cookie } = await api.signUp('Owner', 'owner'));
});
afterAll(() => api.close());

const inspect = (changes: object = {}, as = cookie) =>
  api.caller(as).source.inspect({ repositoryUrl, serverId: api.world.serverId, ...changes });

test('a server of the organization plans a source with the commands that the person set', async () => {
  const answer = await inspect({ branch: 'next', rootFolder: './web/', buildCommand: 'npm run build && true' });
  expect(answer).toMatchObject({ kind: 'failed', code: 'build.not_detected', appFolders: ['web'] });
  expect(api.live.inspected.at(-1)).toMatchObject({
    organizationId: api.world.organizationId,
    serverId: api.world.serverId,
    repositoryUrl,
    ref: 'next',
    rootFolder: 'web',
    builder: 'auto',
    buildCommand: ['sh', '-c', 'npm run build && true'],
    startCommand: [],
  });
});

test('only a person who may create and deploy an app inspects, and only on servers of the organization', async () => {
  const asked = api.live.inspected.length;
  const viewer = await api.signUp('Onlooker', 'viewer');
  await expect(inspect({}, viewer.cookie)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const { token } = await api.caller(cookie).token.create({ name: 'Writes only', permissions: ['app.write'] });
  const input = { repositoryUrl, serverId: api.world.serverId };
  await expect(api.tokenCaller(token).source.inspect(input)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const theirs = await testWorld(api.db.database, 'theirs');
  await expect(inspect({ serverId: theirs.serverId })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(inspect({ repositoryUrl: 'ssh://git@git.example/shop.git' })).rejects.toMatchObject({
    code: 'BAD_REQUEST',
  });
  expect(api.live.inspected).toHaveLength(asked);
});

test('a server that is offline, or with an agent that cannot inspect, is an error and gets no query', async () => {
  const asked = api.live.inspected.length;
  const change = (data: object) =>
    api.world.system(({ tx }) => tx.server.update({ where: { id: api.world.serverId }, data }));
  const { capabilities } = await change({ connectedGateway: null });
  await expect(inspect()).rejects.toThrow('not connected');
  await change({ connectedGateway: 'test-gateway', capabilities: [] });
  await expect(inspect()).rejects.toThrow('cannot inspect');
  await change({ capabilities });
  expect(api.live.inspected).toHaveLength(asked);
});

test('a person inspects a bounded number of times a minute, however they sign in', async () => {
  const limits = {
    known: 1e9,
    signed: 1e9,
    address: 1e9,
    addressless: 1e9,
    inspections: 2,
    testMails: 1e9,
    deliveries: 1e9,
  };
  const rateLimit = createRateLimit({
    limits,
    database: api.db.database,
    secret: 'x'.repeat(32),
    cookies: { session: () => null, device: () => null },
  });
  await rateLimit.admitInspection('usr_1');
  await rateLimit.admitInspection('usr_1');
  await expect(rateLimit.admitInspection('usr_1')).rejects.toMatchObject({ code: 'request.rate_limited' });
  await rateLimit.admitInspection('usr_2');
});
