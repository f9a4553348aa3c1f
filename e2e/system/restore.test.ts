// The control plane's machine is lost. Another one is restored from the backup, the server takes its word, and nobody who
// uses the app notices.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { answering } from './harness/apps.ts';
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

test('a restored control plane is obeyed by its servers, knows what it knew, and no request fails', async () => {
  const repository = await system.repositories.create('keeper', answering('before'));
  const first = await system.createApp('keeper', repository);
  expect(first).toMatchObject({ state: 'live' });
  const before = await system.app('keeper');
  const traffic = system.traffic('keeper', '/');

  const backup = await system.backUp(to);
  // The server goes on past the backup: what it has applied is newer than what the restored one knows.
  await repository.commit('Answer otherwise', answering('later'));
  expect(await system.deploy(before.id)).toMatchObject({ state: 'live' });
  await waitFor(async () => (await system.get('keeper')).body === 'later', {
    what: 'the newer release',
    timeoutMs: 30_000,
  });

  await system.replaceControlPlane(backup);
  await traffic.more(30);
  await waitFor(async () => (await system.server()).inSync, { what: 'the server in sync', timeoutMs: 60_000 });
  await waitFor(async () => (await system.get('keeper')).body === 'before', {
    what: 'the release that the backup knows',
    timeoutMs: 60_000,
  });
  const after = await system.app('keeper');
  expect(after).toMatchObject({ id: before.id, hosts: before.hosts, liveRelease: before.liveRelease });
  expect(await system.log(first.id)).not.toEqual([]);
  expect(await system.deploy(before.id)).toMatchObject({ state: 'live' });
  await waitFor(async () => (await system.get('keeper')).body === 'later', {
    what: 'a new deployment',
    timeoutMs: 30_000,
  });
  expect((await traffic.stop()).failures).toEqual([]);

  // Whoever finds the files alone has nothing: no name, no key, no row in the clear.
  const files = readdirSync(to);
  expect(files).toHaveLength(2);
  for (const file of files) {
    const bytes = readFileSync(join(to, file));
    expect(bytes.subarray(0, 21).toString()).toBe('age-encryption.org/v1');
    expect(bytes.includes('keeper')).toBe(false);
  }
});
