// Tests of deployment URLs on a real server: a former release wakes by a request, with its own code and secrets and without the
// volume, while the app goes on; an eleventh release ends the URL of the first.
import { deploySecrets } from '@fairlead/core/deployment';
import { listDeploymentUrls } from '@fairlead/core/deployment-url';
import { domainUrl } from '@fairlead/core/domain';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerPinned } from '../../tools/lib/pinned-request.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import type { Files } from './harness/repository.ts';
import { System } from './harness/system.ts';

type AppId = Awaited<ReturnType<System['app']>>['id'];

let system: System;
let appId: AppId;
beforeAll(async () => {
  system = await System.start();
  const repository = await system.repositories.create('shop', reportingApp('one'));
  appId = await system.createAppWith('shop', repository, {
    releasesKept: 1,
    volumes: [{ name: 'data', path: '/data' }],
    workers: [{ name: 'idle', command: ['node', '-e', 'setInterval(() => {}, 1000)'], instances: 1 }],
  });
  await setToken(1);
  expect(await system.deploy(appId)).toMatchObject({ state: 'live' });
  await repository.commit('Answer two', reportingApp('two'));
  await setToken(2);
  expect(await system.deploy(appId)).toMatchObject({ state: 'live' });
  const config = { controlHost: '', publicHost: '' };
  await system.product.verbs.updateBaseDomain(
    { serverId: await system.serverId(), baseDomain: 'apps.localhost' },
    config,
  );
});
afterAll(() => system?.stop());

/** App that answers with its text, its environment and the time of its start. */
function reportingApp(text: string): Files {
  return {
    'package.json': JSON.stringify({
      name: 'app',
      private: true,
      type: 'module',
      scripts: { start: 'node server.js' },
    }),
    'server.js': [
      "import { createServer } from 'node:http';",
      'const { API_TOKEN, FAIRLEAD_URL, FAIRLEAD_VOLUMES = null } = process.env;',
      `const facts = { text: '${text}', token: API_TOKEN, url: FAIRLEAD_URL, volumes: FAIRLEAD_VOLUMES, startedAt: Date.now() };`,
      'const server = createServer((request, response) => response.end(JSON.stringify(facts)));',
      'server.listen(Number(process.env.PORT));',
      "process.once('SIGTERM', () => server.close(() => process.exit(0)));",
      '',
    ].join('\n'),
  };
}

const setToken = (version: number) =>
  system.setSecrets(appId, [{ name: 'API_TOKEN', value: `token-${version}`, delivery: 'environment' }]);
const urls = async () => {
  const links = { localHttpsPort: system.ports.https, localHttpPort: system.ports.http };
  const { urls: listed } = await system.asSystem((ctx) =>
    listDeploymentUrls(ctx, { appId }, (route, isLocal) => domainUrl(route, isLocal, links)),
  );
  return listed.map(({ url }) => new URL(url).hostname);
};
const visit = (host: string) =>
  answerPinned({ host, port: system.ports.https, path: '/', caFile: system.caFile, timeoutMs: 30_000 });
const facts = async (host: string) => JSON.parse((await visit(host)).body);
const hostOf = (release: number) => `shop-production--${release}.apps.localhost`;

test('the URL of a former release wakes it, with its own code and secrets and without the volume', async () => {
  await waitFor(async () => ((await urls()).length === 2 ? true : undefined), { what: 'two URLs', timeoutMs: 30_000 });
  const isApplied = async () => {
    const response = await visit(hostOf(2)).catch(() => undefined);
    return response?.status === 200 ? true : undefined;
  };
  await waitFor(isApplied, { what: 'the URL of the live release', timeoutMs: 30_000 });
  const before = Date.now();
  const former = await facts(hostOf(1));
  expect(former).toMatchObject({ text: 'one', token: 'token-1', volumes: null });
  expect(former.startedAt).toBeGreaterThanOrEqual(before);
  expect(former.url).toBe(`http://${hostOf(1)}:${system.ports.http}`);
  expect(await facts('shop.localhost')).toMatchObject({ text: 'two', token: 'token-2', volumes: expect.any(String) });
  expect((await visit(hostOf(1))).headers['x-robots-tag']).toBe('noindex');
  const { instances } = await system.app('shop');
  expect(instances.map(({ process, state }) => `${process} ${state}`).sort()).toEqual(['idle healthy', 'web healthy']);
});

test('the tenth release after it ends the URL of the first', async () => {
  for (let number = 3; number <= 11; number += 1) {
    await setToken(number);
    const { deploymentId } = await system.asSystem((ctx) => deploySecrets(ctx, { appId }));
    expect(await system.waitForDeployment(deploymentId)).toMatchObject({ state: 'live' });
  }
  expect(await urls()).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map(hostOf));
  const isGone = async () => ((await visit(hostOf(1)).catch(() => undefined))?.status === 200 ? undefined : true);
  await waitFor(isGone, { what: 'the end of the URL', timeoutMs: 30_000 });
  expect(await facts(hostOf(2))).toMatchObject({ text: 'two', token: 'token-2' });
  expect(await facts(hostOf(11))).toMatchObject({ token: 'token-11', volumes: expect.any(String) });
});
