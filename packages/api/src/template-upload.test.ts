// Tests of apps from a template: stored like an upload, with the permissions and the quota of one.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import type { TemplateId } from '@fairlead/core/template';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCaller, createContext } from './index.ts';
import { startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let cookie: string;

beforeAll(async () => {
  api = await startTestApi();
  ({ cookie } = await api.signUp('Owner', 'owner'));
});
afterAll(() => api.close());

const newApp = (name: string, template: TemplateId = 'node') => ({
  name,
  source: { kind: 'template' as const, template },
  serverIds: [api.world.serverId],
});

/** Digests in the store. */
async function stored(): Promise<string[]> {
  const digests: string[] = [];
  for await (const { hex } of api.parts.artifacts.list()) digests.push(`sha256:${hex}`);
  return digests;
}

test('an app from a template deploys the files that the control plane packed, which are stored once', async () => {
  const caller = api.caller(cookie);
  const first = await caller.app.create(newApp('One'));
  const second = await caller.app.create(newApp('Two'));
  const digest = `sha256:${createHash('sha256').update(gzipSync('node')).digest('hex')}`;
  expect(await stored()).toEqual([digest]);
  for (const { deploymentId } of [first, second]) {
    const row = await api.world.system(({ tx }) =>
      tx.deployment.findFirstOrThrow({ where: { id: deploymentId ?? '' }, select: { uploadDigest: true } }),
    );
    expect(row).toEqual({ uploadDigest: digest });
  }
  expect(await caller.app.get({ slug: first.slug })).toMatchObject({ template: 'Node.js', repositoryUrl: '' });
});

test('a template needs the permission to deploy, and must be one of the table', async () => {
  const before = await stored();
  const { token } = await api.caller(cookie).token.create({ name: 'Writer', permissions: ['app.write'] });
  await expect(api.tokenCaller(token).app.create(newApp('Refused', 'go'))).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const unknown = newApp('Refused', '../hello-node' as TemplateId);
  await expect(api.caller(cookie).app.create(unknown)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  expect(await stored()).toEqual(before);
});

test('an organization without room for uploads gets no app from a template', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-template-'));
  try {
    const artifacts = createFolderArtifactStore(folder, { organizationFilesMax: 0 });
    const request = { headers: new Headers({ cookie }), organizationSlug: api.world.organizationSlug };
    const caller = createCaller(createContext({ ...api.parts, artifacts }, request));
    await expect(caller.app.create(newApp('Refused'))).rejects.toMatchObject({
      cause: { published: { errorCode: 'artifact.no_room' } },
    });
    const { items } = await api.caller(cookie).app.list({});
    expect(items.map(({ name }) => name)).not.toContain('Refused');
  } finally {
    await rm(folder, { recursive: true });
  }
});
