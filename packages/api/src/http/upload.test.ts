// Uploads of a folder by a program, and the permission for them.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { TokenPermission } from '@fairlead/core/token';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, startTestApi, type TestApi } from '../testing/index.ts';
import { answerHttp } from './answer-http.ts';

let api: TestApi;
let token: string;
let appId: string;
const body = gzipSync('a folder');
const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`;

beforeAll(async () => {
  api = await startTestApi();
  const owner = await api.signUp('Owner', 'owner');
  const made = await api
    .caller(owner.cookie)
    .token.create({ name: 'CI', permissions: ['deployment.write', 'deployment.read'] });
  token = made.token;
  ({ appId } = await api.world.createApp('Shop', { deployNow: false }));
});
afterAll(() => api.close());

interface UploadOptions {
  readonly query?: string;
  readonly bearer?: string;
  readonly headers?: Record<string, string>;
}

async function upload(bytes: Buffer, { query = `?appId=${appId}`, bearer = token, headers }: UploadOptions = {}) {
  const response = await answerHttp(
    api.parts,
    new Request(`${origin}/api/v1/deployment/upload${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, ...headers },
      body: new Uint8Array(bytes),
    }),
  );
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('an upload is deployed by its digest', async () => {
  expect(await upload(body)).toEqual({ status: 200, body: { digest, sizeBytes: body.length } });
  const deployed = await api.tokenCaller(token).deployment.create({ appId: appId as never, uploadDigest: digest });
  expect(await api.tokenCaller(token).deployment.get(deployed)).toMatchObject({ trigger: 'upload' });
});

test('a new app can use an earlier upload of a person who may create and deploy it', async () => {
  const { cookie } = await api.signUp('Founder', 'owner');
  const tokenOf = async (...permissions: TokenPermission[]) =>
    (await api.caller(cookie).token.create({ name: permissions.join(), permissions })).token;
  const query = '';
  for (const lacking of ['app.write', 'deployment.write'] as const) {
    const bearer = await tokenOf(lacking);
    const answer = await upload(body, { query, bearer });
    expect(answer, lacking).toMatchObject({ status: 403, body: { code: 'permission.denied' } });
  }
  const bearer = await tokenOf('app.write', 'deployment.write');
  const nowhere = await upload(body, { query: '?environmentId=env_00000000000000000000', bearer });
  expect(nowhere).toMatchObject({ status: 404, body: { code: 'environment.not_found' } });
  expect((await upload(body, { query, bearer })).body).toEqual({ digest, sizeBytes: body.length });
  const made = await api.tokenCaller(bearer).app.create({
    name: 'Sent',
    source: { kind: 'upload' },
    serverIds: [api.world.serverId],
    firstDeploy: { uploadDigest: digest },
  });
  expect(made.deploymentId).toMatch(/^dep_/);
});

/** Whole files of the organization, regardless of the tables. */
async function stored(): Promise<string[]> {
  const digests: string[] = [];
  for await (const { hex } of api.parts.artifacts.list()) digests.push(`sha256:${hex}`);
  return digests;
}

test('an upload with a wrong digest or length leaves nothing on the disk', async () => {
  const other = gzipSync('another folder');
  expect(await upload(other, { headers: { 'x-fairlead-digest': `sha256:${'0'.repeat(64)}` } })).toMatchObject({
    status: 400,
    body: { code: 'artifact.digest_wrong' },
  });
  expect(await upload(other, { headers: { 'content-length': `${other.length + 1}` } })).toMatchObject({ status: 400 });
  expect(await stored()).toEqual([digest]);
  expect((await upload(other)).status).toBe(200);
  expect(await stored()).toHaveLength(2);
});

test('an upload that is no tar.gz, is incomplete, or is for no app is refused', async () => {
  expect((await upload(Buffer.from('plain'))).status).toBe(400);
  expect((await upload(body, { headers: { 'x-fairlead-digest': `sha256:${'0'.repeat(64)}` } })).status).toBe(400);
  const longer = { 'content-length': `${body.length + 1}` };
  expect(await upload(body, { headers: longer })).toMatchObject({ status: 400, body: { code: 'artifact.incomplete' } });
  expect((await upload(body, { query: '?appId=app_00000000000000000000' })).status).toBe(404);
  expect((await upload(body, { headers: { authorization: 'Bearer flt_wrong' } })).status).toBe(401);
  const unknown = { appId: appId as never, uploadDigest: `sha256:${'1'.repeat(64)}` };
  await expect(api.tokenCaller(token).deployment.create(unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
