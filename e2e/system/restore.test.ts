// Test of a lost control plane: a new one is restored from the backup, the server accepts it, and visitors of the app
// notice nothing.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../tools/lib/command.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { secretsApp } from './harness/apps.ts';
import { System } from './harness/system.ts';

let system: System;
let to: string;

beforeAll(async () => {
  system = await System.start();
  to = mkdtempSync(join(tmpdir(), 'fairlead-backup-'));
}, 120_000);
afterAll(async () => {
  await system.stop();
  rmSync(to, { recursive: true });
});

const API_TOKEN = 'token-5f1c9a7e3b';
const SIGNING_KEY = 'line one\nline two of a key';

test('servers obey a restored control plane, it opens its secrets, and no request fails', async () => {
  const repository = await system.repositories.create('keeper', secretsApp('before'));
  const first = await system.createApp('keeper', repository);
  expect(first).toMatchObject({ state: 'live' });
  const { id: appId } = await system.app('keeper');
  await system.setSecrets(appId, [
    { name: 'API_TOKEN', value: API_TOKEN },
    { name: 'SIGNING_KEY', value: SIGNING_KEY, delivery: 'file' },
  ]);
  expect(await system.deploy(appId)).toMatchObject({ state: 'live' });
  const before = await system.app('keeper');
  const saying = (text: string) => async () =>
    (await system.get('keeper')).body === `${text} ${API_TOKEN} ${SIGNING_KEY}`;
  await waitFor(saying('before'), { what: 'the secrets in the app', timeoutMs: 30_000 });
  const traffic = system.traffic('keeper', '/');

  // The operator changes the master key at runtime; the backup has only the new one.
  const masterKey = (task: string) =>
    run('npm', ['run', '--silent', 'master-key', '--', task, '--data', system.dataFolder]);
  expect(await masterKey('rotate')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('1 data keys are wrapped'),
  });
  expect(await masterKey('prune')).toMatchObject({ code: 0, stdout: expect.stringMatching(/taken out: \S+/) });

  const backup = await system.backUp(to);
  // The server advances past the backup: its applied state is newer than the restored one.
  await repository.commit('Answer otherwise', secretsApp('later'));
  expect(await system.deploy(before.id)).toMatchObject({ state: 'live' });
  await waitFor(saying('later'), {
    what: 'the newer release',
    timeoutMs: 30_000,
  });

  await system.replaceControlPlane(backup);
  await traffic.more(30);
  await waitFor(async () => (await system.server()).inSync, { what: 'the server in sync', timeoutMs: 60_000 });
  await waitFor(saying('before'), {
    what: 'the release that the backup knows',
    timeoutMs: 60_000,
  });
  const after = await system.app('keeper');
  expect(after).toMatchObject({ id: before.id, hosts: before.hosts, liveRelease: before.liveRelease });
  expect(await system.log(first.id)).not.toEqual([]);
  expect(await system.deploy(before.id)).toMatchObject({ state: 'live' });
  await waitFor(saying('later'), {
    what: 'a new deployment',
    timeoutMs: 30_000,
  });
  expect((await traffic.stop()).failures).toEqual([]);

  for (const service of ['gateway', 'worker', 'agent']) expect(system.logOf(service)).not.toContain(API_TOKEN);

  // The files alone reveal nothing: no name, no key, no row in plain text.
  const files = readdirSync(to);
  expect(files).toHaveLength(2);
  for (const file of files) {
    const bytes = readFileSync(join(to, file));
    expect(bytes.subarray(0, 21).toString()).toBe('age-encryption.org/v1');
    for (const word of ['keeper', API_TOKEN]) expect(bytes.includes(word)).toBe(false);
  }
});
