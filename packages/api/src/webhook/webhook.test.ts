// Intake of webhooks: nothing is stored before the request is authentic, and everything is before the answer.
import { createSignedCookies } from '@fairlead/auth';
import { type AppId, newId } from '@fairlead/contract/ids';
import { type DeliveryLimits, deliveryLimits } from '@fairlead/core/push';
import { githubPush, linkRepository, registerGithubApp } from '@fairlead/core/push/testing';
import { silentLog, type TestWorld, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { webhookExample } from '@fairlead/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createBodyBudget } from '../body-limit.ts';
import { createRateLimit, defaultCallLimits } from '../rate-limit.ts';
import { createWebhooks, type Webhooks } from './answer-webhook.ts';
import { signatureOf } from './authenticate.ts';

const secret = 'it-is-a-secret-to-everybody';
let db: TestDatabase;
let world: TestWorld;
let webhooks: Webhooks;
let githubAppId: string;
let appId: AppId;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  githubAppId = await registerGithubApp(world, secret);
  ({ appId } = await world.createApp('Shop', { deployNow: false }));
  await linkRepository(world, githubAppId, appId);
});
afterAll(() => db.drop());
beforeEach(async () => {
  await world.system(({ tx }) => tx.webhookDelivery.deleteMany());
  await world.system(({ tx }) => tx.callCount.deleteMany());
  webhooks = newWebhooks();
});

function newWebhooks(limits: Partial<typeof defaultCallLimits> = {}, bytes?: DeliveryLimits): Webhooks {
  const rateLimit = createRateLimit({
    limits: { ...defaultCallLimits, ...limits },
    database: db.database,
    secret: newId('evt'),
    cookies: createSignedCookies({ secret: 's'.repeat(48), baseUrl: 'https://fairlead.example.test' }),
  });
  const { keys, clock } = world;
  return createWebhooks({
    database: db.database,
    secretKeys: keys,
    rateLimit,
    trustedProxies: ['10.0.0.0/8'],
    clock,
    log: silentLog,
    ...(bytes === undefined ? {} : { deliveryLimits: bytes }),
  });
}

interface Delivery {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly endpointId?: string;
}

async function send({ body = githubPush(), headers = {}, endpointId = githubAppId }: Delivery = {}) {
  const request = new Request('https://fairlead.example.test/', {
    method: 'POST',
    headers: {
      'x-github-event': 'push',
      'x-github-delivery': 'guid-1',
      'x-hub-signature-256': signatureOf(secret, body),
      'x-forwarded-for': '203.0.113.7',
      ...headers,
    },
    body,
  });
  const response = await webhooks.answer(endpointId, request);
  const { message } = (await response.json()) as { readonly message: string };
  return [response.status, message];
}

const stored = () => world.tenant(({ tx }) => tx.webhookDelivery.count());

test('a signed push is stored before the answer, and its replay is not stored again', async () => {
  expect(await send()).toEqual([202, 'The delivery is stored.']);
  expect(await send()).toEqual([200, 'This delivery was received before.']);
  const rows = await world.tenant(({ tx }) => tx.webhookDelivery.findMany());
  expect(rows).toMatchObject([{ deliveryKey: 'guid-1', event: 'push', state: 'received', body: githubPush() }]);
});

test('a hundred deliveries at once are stored in few transactions, each once and in its own row', async () => {
  const results = await Promise.all(
    Array.from({ length: 100 }, (_, index) => send({ headers: { 'x-github-delivery': `guid-${index % 60}` } })),
  );
  expect(results.filter(([status]) => status === 202)).toHaveLength(60);
  expect(results.filter(([status]) => status === 200)).toHaveLength(40);
  expect(await stored()).toBe(60);
});

test.each<[string, Delivery]>([
  ['a wrong signature', { headers: { 'x-hub-signature-256': signatureOf('other', githubPush()) } }],
  ['a signature of another body', { headers: { 'x-hub-signature-256': signatureOf(secret, '{}') } }],
  ['a signature in another form', { headers: { 'x-hub-signature-256': signatureOf(secret, githubPush()).slice(7) } }],
  ['an empty signature', { headers: { 'x-hub-signature-256': '' } }],
  ['an unknown registration', { endpointId: newId('gha') }],
  ['an id of another kind', { endpointId: 'org_1' }],
  ['a token instead of a signature', { headers: { 'x-hub-signature-256': '', authorization: `Bearer ${secret}` } }],
])('%s is refused with 401', async (_, delivery) => {
  expect((await send(delivery))[0]).toBe(401);
  expect(await stored()).toBe(0);
});

test('a registration without a secret refuses everything, also what is signed with an empty one', async () => {
  const endpointId = await registerGithubApp(await testWorld(db.database, 'empty'), '');
  const signature = signatureOf('', githubPush());
  expect((await send({ endpointId, headers: { 'x-hub-signature-256': signature } }))[0]).toBe(401);
});

test.each([
  ['check_run', 'completed'],
  ['check_suite', 'completed'],
  ['status', null],
])('%s wakes the deployments that wait for its commit, and is not stored', async (event, action) => {
  const body = JSON.stringify(webhookExample(event, action));
  const headers = { 'x-github-event': event, 'x-hub-signature-256': signatureOf(secret, body) };
  expect(await send({ body, headers })).toEqual([
    202,
    'Deployments that wait for checks of this commit look at them now.',
  ]);
  expect(await stored()).toBe(0);
});

test('ping is answered, other events are accepted and not stored, and a malformed push is refused', async () => {
  expect(await send({ headers: { 'x-github-event': 'ping' } })).toEqual([200, 'pong']);
  expect((await send({ headers: { 'x-github-event': 'star' } }))[0]).toBe(202);
  for (const body of ['', '{', '[]', '{"ref":"refs/heads/main"}', githubPush({ ref: 'refs/heads/a b' })]) {
    expect((await send({ body }))[0], body).toBe(400);
  }
  expect(await stored()).toBe(0);
});

test('a request on a check run is stored, and what happens to check runs otherwise is not', async () => {
  const sent = (action: string, event = 'check_run') => {
    const body = JSON.stringify({
      action,
      check_run: { head_sha: 'a'.repeat(40), external_id: newId('dep') },
      repository: { id: 1, full_name: 'acme/shop' },
      sender: { id: 1, login: 'ada' },
    });
    return send({ body, headers: { 'x-github-event': event, 'x-github-delivery': newId('evt') } });
  };
  expect((await sent('completed'))[0]).toBe(202);
  expect((await sent('requested', 'check_suite'))[0]).toBe(202);
  expect(await stored()).toBe(0);
  expect(await sent('rerequested')).toEqual([202, 'The delivery is stored.']);
  expect(await stored()).toBe(1);
  expect((await sent('rerequested', 'check_suite'))[0]).toBe(400);
});

test('pull requests of a GitHub App are stored if they can change a preview', async () => {
  const event = { 'x-github-event': 'pull_request' };
  const outcomes: Record<string, unknown> = {};
  for (const action of ['opened', 'synchronize', 'closed', 'reopened', 'ready_for_review', 'labeled', 'assigned']) {
    const body = JSON.stringify(webhookExample('pull_request', action));
    [outcomes[action]] = await send({ body, headers: { ...event, 'x-github-delivery': action } });
  }
  expect(outcomes).toEqual({
    opened: 202,
    synchronize: 202,
    closed: 202,
    reopened: 202,
    ready_for_review: 202,
    labeled: 202,
    assigned: 202,
  });
  const keys = await world.tenant(({ tx }) => tx.webhookDelivery.findMany({ select: { deliveryKey: true } }));
  expect(keys.map(({ deliveryKey }) => deliveryKey).sort()).toEqual([
    'closed',
    'opened',
    'ready_for_review',
    'reopened',
    'synchronize',
  ]);
  expect((await send({ body: '{}', headers: event }))[0]).toBe(400);
  expect((await send({ headers: { ...event, 'x-hub-signature-256': 'sha256=0' } }))[0]).toBe(401);
});

test('a body that is too large is refused before it is read to its end', async () => {
  expect((await send({ headers: { 'content-length': String(26 * 1024 * 1024) } }))[0]).toBe(413);
});

test('wrong guesses and floods are answered with 429', async () => {
  webhooks = newWebhooks({ address: 3, deliveries: 2 });
  const wrong = { headers: { 'x-hub-signature-256': 'sha256=0' } };
  const statuses = [];
  for (let guess = 0; guess < 5; guess += 1) statuses.push((await send(wrong))[0]);
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect([(await send())[0], (await send())[0], (await send())[0]]).toEqual([202, 200, 429]);
});

test('the body of a request without a signature is not read, and bodies of strangers share a bound', async () => {
  const request = new Request('https://fairlead.example.test/', { method: 'POST', body: githubPush() });
  expect((await webhooks.answer(githubAppId, request)).status).toBe(401);
  expect(request.bodyUsed).toBe(false);

  const budget = createBodyBudget(10);
  await budget.hold(async (take) => {
    take(6);
    await expect(budget.hold(async (other) => other(5))).rejects.toThrow('memory for unverified');
    take(4);
  });
  await budget.hold(async (take) => take(10));
});

test('a database that is away is answered with 503, so that the host knows that the delivery was not stored', async () => {
  const broken = createWebhooks({
    database: { ...db.database, system: () => Promise.reject(new Error('connection refused')) },
    secretKeys: world.keys,
    rateLimit: createRateLimit({
      limits: defaultCallLimits,
      database: db.database,
      secret,
      cookies: createSignedCookies({ secret: 's'.repeat(48), baseUrl: 'https://fairlead.example.test' }),
    }),
    trustedProxies: [],
    clock: world.clock,
    log: silentLog,
  });
  webhooks = broken;
  expect((await send())[0]).toBe(503);
});

const rowBytes = 1024;

test('an organization stores a bounded number of bytes within a day, and repetitions of a small one count too', async () => {
  const bytes = Buffer.byteLength(githubPush()) + 'push'.length + rowBytes;
  const limits = { ...deliveryLimits, githubPushes: 2.5 * bytes };
  webhooks = newWebhooks({}, limits);
  const sendNew = (guid: string) => send({ headers: { 'x-github-delivery': guid } });
  expect(await sendNew('guid-1')).toEqual([202, 'The delivery is stored.']);
  expect(await sendNew('guid-2')).toEqual([202, 'The delivery is stored.']);
  const [status, message] = await sendNew('guid-3');
  expect([status, message]).toEqual([429, expect.stringContaining('The 24-hour storage limit for webhooks')]);
  expect(await stored()).toBe(2);
  // Another process counts what is stored.
  webhooks = newWebhooks({}, limits);
  expect((await sendNew('guid-4'))[0]).toBe(429);
  world.clock.forward(24 * 3_600_000 + 1);
  expect(await sendNew('guid-5')).toEqual([202, 'The delivery is stored.']);
});

test('an action that is no word is refused, and other deliveries of the group are stored', async () => {
  const repository = { id: 1, full_name: 'a/b', default_branch: 'main', private: false, archived: false };
  const odd = (action: string) =>
    send({
      body: JSON.stringify({ action, repository }),
      headers: { 'x-github-event': 'repository', 'x-github-delivery': `odd-${action.length}` },
    });
  const [first, second, push] = await Promise.all([odd('a\u0000b'), odd('a'.repeat(200)), send()]);
  expect([first?.[0], second?.[0], push?.[0]]).toEqual([400, 400, 202]);
});
