// HTTP API against its own document: the document is valid and complete, and responses match it.

import { newId } from '@fairlead/contract/ids';
import { recordDeliveries } from '@fairlead/core/push';
import { makeChain } from '@fairlead/core/testing';
import { tokenPermissionSchema } from '@fairlead/core/token';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { answerHttp, apiDocument } from '../index.ts';
import { connectRepository } from '../testing/connect-github.ts';
import { emptyRepository, origin, startTestApi, type TestApi } from '../testing/index.ts';
import { fromJson, fromQuery, toJsonSchema } from './json-schema.ts';
import { isForTokens, operations, procedures } from './operations.ts';

let api: TestApi;
let owner: { cookie: string };
let token: string;
const repositoryUrl = 'https://git.example.test/shop.git';

beforeAll(async () => {
  api = await startTestApi();
  owner = await api.signUp('Owner', 'owner');
  const made = await api
    .caller(owner.cookie)
    .token.create({ name: 'All', permissions: [...tokenPermissionSchema.options] });
  token = made.token;
});
afterAll(() => api.close());

interface Body {
  readonly id?: string;
  readonly slug?: string;
  readonly createdAt?: string;
  readonly items?: readonly object[];
  readonly fields?: Readonly<Record<string, string>>;
}

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await answerHttp(
    { ...api.parts, outbound: emptyRepository },
    new Request(`${origin}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }),
  );
  return { status: response.status, type: response.headers.get('content-type'), body: (await response.json()) as Body };
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
const document = apiDocument();

interface Answered {
  readonly content?: { readonly 'application/json': { readonly schema: object } };
}

/** Returns the differences between a response and the document; empty if there are none. */
function faultsOf(path: string, method: 'get' | 'post', status: number, body: unknown): unknown[] {
  const { content } = (document.paths[`/${path}`]?.[method]?.responses['200'] ?? {}) as Answered;
  const schema = status === 200 ? content?.['application/json'].schema : document.components.schemas.Problem;
  if (schema === undefined) throw new Error(`${path} has no schema`);
  const validate = ajv.compile(schema);
  return validate(body) ? [] : (validate.errors ?? []);
}

test('the document is valid OpenAPI 3.1', async () => {
  const response = await answerHttp(api.parts, new Request(`${origin}/api/v1/openapi.json`));
  expect(response.status).toBe(200);
  const served = (await response.json()) as { openapi: string; paths: object };
  expect(served.openapi).toBe('3.1.0');
  const verdict = await new Validator().validate(served);
  expect(verdict.errors).toBeUndefined();
  expect(verdict.valid).toBe(true);
  const broken = await new Validator().validate({ ...served, paths: { nowhere: {} } });
  expect(broken.valid).toBe(false);
});

test('every procedure that a token may call is in it, with its permission, and no other', () => {
  const expected = procedures().filter(([, def]) => isForTokens(def));
  expect(expected.length).toBeGreaterThan(25);
  const documented = Object.values(document.paths).flatMap((path) => Object.values(path));
  expect(documented.map((operation) => operation?.operationId).sort()).toEqual(expected.map(([path]) => path).sort());
  for (const operation of documented) {
    const [, def] = expected.find(([path]) => path === operation?.operationId) ?? [];
    expect(operation?.['x-permission']).toBe(def?.meta?.access);
  }
  for (const closed of [
    'token.create',
    'token.list',
    'session.me',
    'setup.claim',
    'live.watch',
    'role.create',
    'secret.reveal',
  ]) {
    expect(documented.map((operation) => operation?.operationId)).not.toContain(closed);
  }
});

test('no schema of it leaves a field open that has a shape', () => {
  for (const { procedure, output } of operations()) {
    const text = JSON.stringify(output);
    // An unrepresentable type becomes {}; only audit fields may hold different things. What the keyword "type" follows is the
    // value that a record has by default, and no schema.
    if (!procedure.startsWith('audit.')) expect(text, procedure).not.toMatch(/:\{\}(?!,"type":"object")/);
  }
});

describe('every call that reads', () => {
  const reading = operations().filter(({ method }) => method === 'GET');
  let queries: Readonly<Record<string, Record<string, string>>>;

  let github: Awaited<ReturnType<typeof connectRepository>>;

  beforeAll(async () => {
    github = await connectRepository(api.caller(owner.cookie));
    const made = await api.world.createApp('Read', { host: 'read.example.test', deployNow: true });
    const deploymentId = made.deploymentId ?? '';
    const { appId } = made;
    await api.world.advance(deploymentId);
    await api.world.finish(deploymentId);
    const { runId } = await api.caller(owner.cookie).benchmark.create({ appId, plan: {} });
    const { planId } = await api.caller(owner.cookie).benchmarkPlan.create({ appId, name: 'Nightly', plan: {} });
    const { enrolmentId } = await api.caller(owner.cookie).server.enrol({ name: 'berlin' });
    await api.caller(owner.cookie).secret.update({
      owner: { appId },
      items: [{ name: 'API_KEY', value: 'hunter2' }],
    });
    const [secret] = (await api.caller(owner.cookie).secret.list({ appId })).secrets;
    await api.caller(owner.cookie).config.update({ appId, settings: { releasesKept: 6 } });
    await api.caller(owner.cookie).credential.rotateKey({ appId });
    // Another release, with that secret.
    await api.caller(owner.cookie).deployment.deploySecrets({ appId });
    const { organizationId } = api.world;
    const push = { source: 'github', endpointId: 'gha_1', deliveryKey: 'guid', event: 'push', body: '{}' } as const;
    const [delivery] = await api.world.system((ctx) => recordDeliveries(ctx, [{ organizationId, ...push }]));
    const deliveryId = delivery?.deliveryId ?? '';
    const [domain] = (await api.caller(owner.cookie).domain.list({ search: 'read.example.test' })).items;
    const volumeId = newId('vol');
    await api.world.system(async ({ tx }) => {
      const { environmentId } = await tx.placement.findFirstOrThrow({ where: { appId } });
      await tx.volume.create({
        data: { id: volumeId, organizationId, appId, environmentId, name: 'data', label: 'Read · Production' },
      });
    });
    const [newer, older] = (await api.caller(owner.cookie).release.list({ appId })).items;
    const { leafPem, intermediatePem, rootPem, keyPem } = makeChain({ names: ['read.example.test'] });
    const chainPem = [leafPem, intermediatePem, rootPem].join('\n');
    const { certificateId } = await api.caller(owner.cookie).certificate.add({ chainPem, keyPem });
    queries = {
      'app.get': { slug: made.slug },
      'benchmark.get': { runId },
      'benchmark.export': { runId },
      'benchmark.report': { runId },
      'benchmarkPlan.get': { planId },
      'config.get': { appId },
      'config.list': { appId },
      'config.getVersion': { appId, number: '1' },
      'credential.list': { appId },
      'deployment.get': { deploymentId },
      'deployment.log': { deploymentId },
      'certificate.get': { domainId: domain?.id ?? '' },
      'certificate.getDetail': { certificateId },
      'domain.tls': { domainId: domain?.id ?? '' },
      'domain.get': { domainId: domain?.id ?? '' },
      'github.getAddresses': { githubAppId: github.githubAppId },
      'github.getAppRepository': { appId },
      'github.inspectRepository': {
        installationId: github.installationId,
        repositoryId: String(github.repositoryId),
      },
      'domain.getBase': { serverId: api.world.serverId },
      'host.get': { domainId: domain?.id ?? '' },
      'log.search': { appId },
      'metric.routes': { appId, range: '15m' },
      'push.get': { deliveryId },
      'preview.getPolicy': { appId },
      'preview.list': { appId },
      'push.getRules': { appId },
      'push.suggestPaths': { appId },
      'webhook.list': { appId },
      'secret.list': { appId },
      'secret.versions': { secretId: secret?.id ?? '' },
      'source.branches': { repositoryUrl },
      'source.inspect': { repositoryUrl, serverId: api.world.serverId, buildCommand: 'npm run build' },
      'metric.app': { appId, range: '15m' },
      'metric.server': { serverId: api.world.serverId, range: '24h' },
      'release.diff': { appId, fromReleaseId: older?.id ?? '', toReleaseId: newer?.id ?? '' },
      'release.list': { appId },
      'release.listUrls': { appId },
      'server.get': { serverId: api.world.serverId },
      'server.drainState': { serverId: api.world.serverId },
      'server.enrolment': { enrolmentId },
      'variable.list': { appId },
      'volume.listSnapshots': { volumeId },
      'volumeMove.list': { serverId: api.world.serverId },
    };
  });

  afterAll(() => github.fake.close());

  test.each(reading)('$procedure answers as its schema says', async ({ procedure, path }) => {
    const query = new URLSearchParams(queries[procedure]).toString();
    const { status, body } = await call('GET', `${path}?${query}`);
    expect({ status, body }).toMatchObject({ status: 200 });
    expect(faultsOf(path, 'get', status, body)).toEqual([]);
  });
});

test('changes go the same way, and dates are ISO strings', async () => {
  const source = { kind: 'git', repositoryUrl };
  const made = await call('POST', 'app/create', { name: 'By HTTP', source, serverIds: [api.world.serverId] });
  expect(made.status).toBe(200);
  expect(faultsOf('app/create', 'post', 200, made.body)).toEqual([]);
  const { body } = await call('GET', `app/get?slug=${made.body.slug}`);
  expect(body.createdAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const listed = await call('GET', 'audit/list?action=app.create&limit=1&from=2020-01-01T00%3A00%3A00Z');
  expect(listed.body.items).toMatchObject([{ target: { id: made.body.id }, actor: { kind: 'token' } }]);
  const none = await call('GET', 'audit/list?from=2999-01-01T00%3A00%3A00Z');
  expect(none.body.items).toEqual([]);
  const known = JSON.stringify({ sequence: 1, hash: '0'.repeat(64) });
  const verdict = await call('GET', `audit/verify?known=${encodeURIComponent(known)}`);
  expect(verdict.body).toMatchObject({ whole: false, broken: { reason: 'rewritten' } });
});

describe('a refusal is a problem document with our code', () => {
  const wrongMethod = ['GET', 'app/create', undefined, {}, 404, 'request.unknown'] as const;
  const cases = [
    ['GET', 'app/get?slug=nowhere', undefined, {}, 404, 'app.not_found'],
    ['GET', 'app/list?limit=5000', undefined, {}, 400, 'input.invalid'],
    ['GET', 'app/list?limit=many', undefined, {}, 400, 'input.invalid'],
    ['GET', 'nowhere', undefined, {}, 404, 'request.unknown'],
    ['GET', 'constructor/name', undefined, {}, 404, 'request.unknown'],
    wrongMethod,
    ['POST', 'token/create', { name: 'x', permissions: ['app.read'] }, {}, 404, 'request.unknown'],
    ['POST', 'app/create', '{"name":', {}, 400, 'request.not_json'],
    ['POST', 'app/create', '{}', { 'content-type': 'text/plain' }, 400, 'request.not_json'],
    ['POST', 'app/create', JSON.stringify('x'.repeat(300_000)), {}, 413, 'request.too_large'],
    ['GET', 'app/list', undefined, { authorization: 'Bearer flt_wrong' }, 401, 'token.invalid'],
    ['GET', 'app/list', undefined, { authorization: 'Basic eDp5' }, 401, 'token.invalid'],
  ] as const;

  test.each(cases)('%s %s', async (method, path, body, headers, status, code) => {
    const answer = await call(method, path, body, headers);
    expect(answer).toMatchObject({ status, type: 'application/problem+json', body: { code, status } });
    expect(faultsOf(path, 'get', answer.status, answer.body)).toEqual([]);
  });

  test('names the fields of bad input', async () => {
    const { body } = await call('POST', 'app/create', { name: ' ', serverIds: [api.world.serverId] });
    expect(body.fields).toMatchObject({ name: 'Enter a name.' });
  });

  test('a cookie opens nothing, and one with a token changes nothing', async () => {
    const request = new Request(`${origin}/api/v1/app/list`, { headers: { cookie: owner.cookie } });
    const response = await answerHttp(api.parts, request);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.json()).toMatchObject({ code: 'token.required' });
    expect((await call('GET', 'app/list', undefined, { cookie: owner.cookie, authorization: 'Bearer x' })).status).toBe(
      401,
    );
  });
});

test('text of a query and of a body becomes the types of the schema, and nothing else does', () => {
  const schema = toJsonSchema(
    z.object({
      limit: z.number().int(),
      on: z.boolean().optional(),
      from: z.date().nullish(),
      word: z.string(),
      iso: z.iso.datetime().optional(),
      many: z.array(z.object({ at: z.date() })).optional(),
    }),
    'input',
  );
  const at = new Date('2026-01-02T03:04:05Z');
  const text = at.toISOString();
  const many = JSON.stringify([{ at: text }]);
  const query = new URLSearchParams({ limit: '5', on: 'true', from: text, word: '7', iso: text, many, other: '8' });
  expect(fromQuery(schema, query)).toEqual({
    limit: 5,
    on: true,
    from: at,
    word: '7',
    iso: text,
    many: [{ at }],
    other: '8',
  });
  expect(fromQuery(schema, new URLSearchParams({ limit: '', on: 'yes', from: 'soon' }))).toEqual({
    limit: '',
    on: 'yes',
    from: 'soon',
  });
  expect(fromJson(schema, { limit: '5', from: text, many: [{ at: text }] })).toEqual({
    limit: '5',
    from: at,
    many: [{ at }],
  });
});
