// Build plans of sources, as the web process requests them and an agent returns them.
import { create } from '@bufbuild/protobuf';
import { Builder, InspectionSchema } from '@fairlead/contract/agent';
import type { Capability } from '@fairlead/contract/capabilities';
import { type Inspection, inspection } from '@fairlead/contract/inspection';
import { insertOrganizationRows } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

function ask(changes: object = {}, token = gateway.token, signal?: AbortSignal): Promise<Response> {
  const { organizationId, serverId } = gateway.rows;
  const query = {
    organizationId,
    serverId,
    repositoryUrl: 'https://git.example/shop.git',
    ref: 'main',
    rootFolder: 'web',
    builder: 'native',
    installCommand: [],
    buildCommand: ['npm', 'run', 'site'],
    startCommand: [],
    outputFolder: '',
    dockerfile: '',
    ...changes,
  };
  return fetch(`${gateway.httpUrl}/internal/inspect`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(query),
    ...(signal === undefined ? {} : { signal }),
  });
}
const answerOf = async (response: Promise<Response>): Promise<Inspection> =>
  inspection.parse(await (await response).json());
const connect = async (capabilities: Capability[]) =>
  (await gateway.knownAgent()).connect(gateway.rows.serverId, { capabilities });

test('a query goes to the server, and its plan comes back, truncated if it is too long', async () => {
  const link = await connect(['inspect']);
  const answer = answerOf(ask());
  const { queryId, source } = await link.next('inspectQuery');
  expect(source).toMatchObject({
    repositoryUrl: 'https://git.example/shop.git',
    ref: 'main',
    rootFolder: 'web',
    builder: Builder.NATIVE,
    buildCommand: ['npm', 'run', 'site'],
    deploymentId: '',
    appId: '',
  });
  const plan = { framework: 'Astro', startCommand: 'x'.repeat(5000), sentences: Array(300).fill('Found it.') };
  link.send({
    case: 'inspection',
    value: create(InspectionSchema, { queryId, plan, commit: { hash: 'abc', branch: 'main' } }),
  });
  const found = await answer;
  expect(found).toMatchObject({ kind: 'plan', commit: { hash: 'abc', branch: 'main' }, plan: { framework: 'Astro' } });
  if (found.kind !== 'plan') throw new Error('there is a plan');
  expect([found.plan.startCommand.length, found.plan.sentences.length]).toEqual([1001, 200]);
  await link.close();
});

test('a failure keeps its sentence and the folders to choose from', async () => {
  const link = await connect(['inspect']);
  const answer = answerOf(ask());
  const { queryId } = await link.next('inspectQuery');
  const failure = { code: 'build.not_detected', message: 'There is no app, but in `web`.' };
  link.send({ case: 'inspection', value: create(InspectionSchema, { queryId, failure, appFolders: ['web'] }) });
  expect(await answer).toEqual({
    kind: 'failed',
    code: 'build.not_detected',
    sentence: 'There is no app, but in `web`.',
    appFolders: ['web'],
  });
  await link.close();
});

test('a closed request cancels the query', async () => {
  const link = await connect(['inspect']);
  const left = new AbortController();
  const answer = ask({}, gateway.token, left.signal);
  const { queryId } = await link.next('inspectQuery');
  left.abort();
  await expect(answer).rejects.toThrow();
  expect(await link.next('inspectCancel')).toMatchObject({ queryId });
  await link.close();
});

test('an agent that cannot inspect gets no query, and an agent that is away or goes away is reported', async () => {
  expect(await answerOf(ask())).toMatchObject({ code: 'server.not_connected' });
  const old = await connect(['logs']);
  expect(await answerOf(ask())).toMatchObject({ code: 'inspect.unsupported' });
  await old.close();
  const link = await connect(['inspect']);
  const answer = answerOf(ask());
  await link.next('inspectQuery');
  await link.close();
  expect(await answer).toMatchObject({ code: 'server.not_connected' });
});

test('only the web process may query, and only servers of the organization', async () => {
  expect((await ask({}, 'wrong')).status).toBe(401);
  const theirs = await insertOrganizationRows(gateway.db.database, 'theirs');
  expect((await ask({ serverId: theirs.serverId })).status).toBe(404);
  expect((await ask({ builder: 'image' })).status).toBe(400);
});
