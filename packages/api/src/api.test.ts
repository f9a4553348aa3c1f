import { newId } from '@fairlead/contract/ids';
import superjson from 'superjson';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { batchMax } from './answer-request.ts';
import { bodyBytesMax } from './body-limit.ts';
import { type ApiParts, answerRequest, organizationHeader, type PublicError } from './index.ts';
import { origin, startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let owner: { cookie: string; userId: string };

beforeAll(async () => {
  api = await startTestApi();
  owner = await api.signUp('Owner', 'owner');
});
afterAll(() => api.close());

const repositoryUrl = 'https://git.example.test/shop.git';
const newApp = (name: string) => ({
  name,
  source: { kind: 'git' as const, repositoryUrl },
  serverIds: [api.world.serverId],
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly message: string;
  readonly data: PublicError & { readonly stack?: string };
}

/** The same way a browser takes. */
async function post(path: string, input: unknown, cookie = owner.cookie, parts: ApiParts = api.parts): Promise<Answer> {
  const request = new Request(`${origin}/api/trpc/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie, [organizationHeader]: api.world.organizationSlug },
    body: JSON.stringify(superjson.serialize(input)),
  });
  const response = await answerRequest(parts, request);
  const text = await response.text();
  const error = superjson.deserialize<{ message: string; data: Answer['data'] }>(
    JSON.parse(text).error ?? { json: {} },
  );
  return { status: response.status, text, ...error };
}

test('a signed-in person gets their identity and permissions', async () => {
  const me = await api.caller(owner.cookie).session.me();
  expect(me.user).toMatchObject({ id: owner.userId, name: 'Owner' });
  expect(me.organizations).toMatchObject([{ slug: api.world.organizationSlug, role: 'owner' }]);
  expect(me.organizations[0]?.permissions).toContain('server.delete');
});

test('an app is made, shown, renamed and deleted', async () => {
  const caller = api.caller(owner.cookie);
  const made = await caller.app.create({ ...newApp('Shop'), domain: { host: 'Shop.example.test' } });
  expect(made).toMatchObject({ slug: 'shop' });
  const app = await caller.app.get({ slug: 'shop' });
  expect(app).toMatchObject({
    name: 'Shop',
    branch: '',
    status: 'deploying',
    url: 'https://shop.example.test:4443',
    sparkline: new Array(30).fill(0),
    lastDeployment: { number: 1, state: 'queued' },
  });
  await caller.app.update({ appId: app.id, name: 'Big shop', branch: 'next', rootFolder: '/apps/web/' });
  expect(await caller.app.get({ slug: 'shop' })).toMatchObject({
    name: 'Big shop',
    branch: 'next',
    rootFolder: 'apps/web',
  });
  expect((await caller.app.list({ search: 'BIG' })).items).toHaveLength(1);
  expect((await caller.app.list({ search: 'shop.example' })).items).toHaveLength(1);
  expect((await caller.app.list({ search: '%' })).items).toHaveLength(0);
  const [found] = (await caller.app.list({ search: 'BIG' })).items;
  expect((await caller.app.list({ search: found?.id ?? '' })).items).toEqual([found]);
  await expect(caller.app.delete({ appId: app.id, confirmName: 'Shop' })).rejects.toMatchObject({
    code: 'BAD_REQUEST',
  });
  await caller.app.delete({ appId: app.id, confirmName: 'Big shop' });
  await expect(caller.app.get({ slug: 'shop' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('the logs of an app go with it, once its permanent deletion is certain', async () => {
  const caller = api.caller(owner.cookie);
  const { id, deploymentId } = await caller.app.create(newApp('Chatty'));
  if (deploymentId === null) throw new Error('a deployment was expected');
  const objectKey = `${api.world.organizationId}/${deploymentId}/0.json.zst`;
  await api.parts.logs.put(objectKey, new Uint8Array([1]));
  await api.world.system(({ tx }) =>
    tx.logChunk.create({
      data: {
        id: newId('lgc'),
        organizationId: api.world.organizationId,
        deploymentId,
        firstLine: 0,
        lineCount: 1,
        objectKey,
        sizeBytes: 1,
      },
    }),
  );
  await expect(caller.app.delete({ appId: id, confirmName: 'Quiet' })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  expect(await api.parts.logs.get(objectKey)).not.toBeNull();
  await caller.app.delete({ appId: id, confirmName: 'Chatty' });
  expect(await api.parts.logs.get(objectKey)).not.toBeNull();
  await expect(caller.app.purge({ appId: id, confirmName: 'Quiet' })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  await caller.app.purge({ appId: id, confirmName: 'Chatty' });
  expect(await api.parts.logs.get(objectKey)).toBeNull();
});

test('a failed call leaves nothing behind', async () => {
  const caller = api.caller(owner.cookie);
  const domain = { host: 'first.example.test' };
  await caller.app.create({ ...newApp('First'), domain });
  const second = { ...newApp('Second'), domain };
  await expect(caller.app.create(second)).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(caller.app.get({ slug: 'second' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(caller.app.create({ ...newApp('First'), domain: { host: 'other.example.test' } })).rejects.toThrow(
    'There is already an app with this name. Choose another.',
  );
});

test('bad input names its fields in sentences', async () => {
  const answer = await post('app.create', {
    name: ' ',
    source: {
      kind: 'git',
      repositoryUrl: 'https://ada:secret@git.example.test/shop.git',
      branch: '--upload-pack=x',
    },
    serverIds: ['srv_x/../y'],
    domain: { host: 'https://shop.example.test' },
  });
  expect(answer.status).toBe(400);
  expect(answer.data).toMatchObject({
    errorCode: 'input.invalid',
    fields: {
      name: 'Enter a name.',
      'source.repositoryUrl': 'Leave user name and password out of the repository address; it is stored and shown.',
      'source.branch': 'That is not a name git allows for a branch, tag or commit.',
      'domain.host': 'Enter a host name such as shop.example.com, without https:// or a path.',
    },
  });
  expect(answer.data.fields).toHaveProperty(['serverIds.0']);
  expect(answer.text).not.toContain('secret@');
});

test('a known error carries its code, sentence and details', async () => {
  const deploymentId = newId('dep');
  const answer = await post('deployment.cancel', { deploymentId });
  expect(answer).toMatchObject({
    status: 404,
    message: 'There is no such deployment.',
    data: { errorCode: 'deployment.not_found', details: { deploymentId }, errorId: null },
  });
});

test('of an unknown error only an id gets out; its text is in the log under that id', async () => {
  const secret = 'password=hunter2 at /srv/fairlead/key';
  const broken: ApiParts = {
    ...api.parts,
    database: { ...api.parts.database, tenant: () => Promise.reject(new Error(secret)) },
  };
  const answer = await post('app.delete', { appId: newId('app'), confirmName: 'x' }, owner.cookie, broken);
  expect(answer.status).toBe(500);
  expect(answer.text).not.toContain('hunter2');
  expect(answer.text).not.toContain('stack');
  expect(answer.data).toMatchObject({ errorCode: 'internal.unexpected', errorId: expect.stringMatching(/^err_/) });
  expect(api.errors.at(-1)).toMatchObject({ errorId: answer.data.errorId, err: { message: secret } });
});

test('a server is enrolled by a command that can be used once', async () => {
  const caller = api.caller(owner.cookie);
  const { command, enrolmentId } = await caller.server.enrol({ name: 'berlin' });
  expect(command).toContain(`${origin}/install/agent.sh`);
  expect(await caller.server.enrolment({ enrolmentId })).toMatchObject({
    name: 'berlin',
    usedAt: null,
    serverId: null,
  });
  const token = /FAIRLEAD_ENROL_TOKEN='([^']+)'/.exec(command)?.[1] ?? '';
  const stored = await api.world.system(({ tx }) => tx.serverEnrolment.findMany());
  expect(token.length).toBeGreaterThan(30);
  expect(JSON.stringify(stored)).not.toContain(token);
});

test('every list and page works for an almost empty organization', async () => {
  const caller = api.caller(owner.cookie);
  const overview = await caller.overview.get({});
  expect(overview.servers).toMatchObject([{ name: 'local', state: 'online', cpuMillis: null }]);
  expect((await caller.server.list()).items).toHaveLength(1);
  expect(await caller.server.get({ serverId: api.world.serverId })).toMatchObject({ isLocal: true });
  expect((await caller.metric.server({ serverId: api.world.serverId, range: '24h' })).points).toHaveLength(288);
  expect((await caller.benchmark.list({})).items).toEqual([]);
  expect((await caller.member.list()).items.map(({ name }) => name)).toContain('Owner');
  const { slug } = await api.world.createApp('Fresh');
  const app = await caller.app.get({ slug });
  const metric = await caller.metric.app({ appId: app.id, range: '15m' });
  expect(metric.points).toHaveLength(180);
  expect((await caller.metric.routes({ appId: app.id, range: '24h' })).routes).toEqual([]);
  expect(metric.totals).toEqual({ requests: 0, errors: 0, clientErrors: 0, p50Ms: null, p95Ms: null, p99Ms: null });
  await expect(caller.benchmark.create({ appId: app.id, plan: {} })).rejects.toThrow('Deploy it first');
});

test("an app cannot have the control plane's host or one below it", async () => {
  const caller = api.caller(owner.cookie);
  const app = await caller.app.create(newApp('Polite'));
  for (const host of ['fairlead.localhost', 'x.Fairlead.localhost', 'fairlead.example.test']) {
    const named = { ...newApp('Sly'), domain: { host } };
    await expect(caller.app.create(named), host).rejects.toThrow('belongs to the control plane');
    await expect(caller.domain.attach({ appId: app.id, host }), host).rejects.toThrow('belongs to the control plane');
  }
});

test('a request holds a handful of calls, and whether set-up is open costs a stranger no transaction', async () => {
  const reasons: string[] = [];
  const { database } = api.parts;
  const counted: ApiParts = {
    ...api.parts,
    database: {
      ...database,
      system: (reason, work, options) => {
        reasons.push(reason);
        return database.system(reason, work, options);
      },
    },
  };
  const batch = async (calls: number) => {
    const procedures = Array.from({ length: calls }, () => 'setup.status').join(',');
    const response = await answerRequest(counted, new Request(`${origin}/api/trpc/${procedures}?batch=1`));
    return response.status;
  };
  expect(await batch(1)).toBe(200);
  expect(await batch(batchMax)).toBe(200);
  expect(reasons).toHaveLength(1);
  expect(await batch(batchMax + 1)).toBe(400);
  expect(await batch(1200)).toBe(400);
});

test('the token makes the first account once, and no other', async () => {
  const fresh = await startTestApi();
  try {
    await fresh.world.system(({ tx }) => tx.member.deleteMany());
    const token = (await fresh.setupToken()) ?? '';
    const open = fresh.caller(undefined, null);
    expect(await open.setup.status()).toEqual({ needed: true });
    const person = (name: string) => ({ name, email: `${name}@example.test`, password: 'correct horse battery' });
    await expect(open.setup.claim({ token: 'setup_wrong', ...person('eve') })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });

    const claims = await Promise.allSettled(
      ['ada', 'bob', 'cyd'].map((name) => open.setup.claim({ token, ...person(name) })),
    );
    expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const accounts = await fresh.world.system(({ tx }) =>
      tx.user.findMany({
        where: { email: { contains: '@example.test' } },
        select: { members: { select: { role: true } } },
      }),
    );
    // The world's own owner has lost its membership above; of the claimers only the winner has an account.
    expect(accounts.filter(({ members }) => members.length > 0)).toEqual([{ members: [{ role: 'owner' }] }]);
    expect(accounts).toHaveLength(1);
    expect(await open.setup.status()).toEqual({ needed: false });
    await expect(open.setup.claim({ token, ...person('dan') })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  } finally {
    await fresh.close();
  }
});

test('branches of a user-supplied address are only read from the internet', async () => {
  const caller = api.caller(owner.cookie);
  await expect(caller.source.branches({ repositoryUrl: 'http://127.0.0.1:4402/shop.git' })).rejects.toThrow(
    'This address is private',
  );
  const viewer = await api.signUp('Onlooker', 'viewer');
  await expect(api.caller(viewer.cookie).source.branches({ repositoryUrl })).rejects.toMatchObject({
    code: 'FORBIDDEN',
  });
});

test('a too large request is refused before it is read, also without a Content-Length', async () => {
  const large = await post('app.create', { name: 'x'.repeat(bodyBytesMax) });
  expect(large.status).toBe(413);
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)) });
  const request = new Request(`${origin}/api/trpc/app.create`, {
    method: 'POST',
    body: endless,
    duplex: 'half',
  } as RequestInit);
  expect((await answerRequest(api.parts, request)).status).toBe(413);
});
