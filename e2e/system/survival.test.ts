// Tests that visitors notice nothing, or only failed in-flight requests, when one of Fairlead's processes ends.
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { run } from '../../tools/lib/command.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { NFTABLES } from '../../tools/test/debian.ts';
import { respondingApp } from './harness/apps.ts';
import type { Repository } from './harness/repository.ts';
import { System } from './harness/system.ts';

const CONNECTIONS = 6;

let system: System;
let repository: Repository;

beforeAll(async () => {
  system = await System.start();
  repository = await system.repositories.create('steady', respondingApp('steady'));
  expect(await system.createApp('steady', repository)).toMatchObject({ state: 'live' });
});
afterAll(() => system?.stop());

beforeEach(() =>
  waitFor(async () => (await system.server()).inSync, { what: 'the server in sync', timeoutMs: 30_000 }),
);

/** Sends SIGKILL and waits until the supervisor has restarted the process. */
async function killAgent(): Promise<void> {
  const before = system.agentPid;
  if (before === undefined) throw new Error('no agent runs');
  process.kill(before, 'SIGKILL');
  await waitFor(() => system.agentPid !== undefined && system.agentPid !== before, {
    what: 'another agent',
    timeoutMs: 20_000,
  });
}

test('`run` gets SIGKILL under traffic: no request fails, and the instance is adopted', async () => {
  const before = (await system.app('steady')).instances;
  const traffic = system.traffic('steady', '/', CONNECTIONS);
  await traffic.more(100);
  await killAgent();
  await waitFor(async () => (await system.server()).state === 'online', {
    what: 'the agent back online',
    timeoutMs: 30_000,
  });
  await traffic.more(100);
  expect((await traffic.stop()).failures).toEqual([]);
  expect((await system.app('steady')).instances.map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid));
});

test('`proxy` gets SIGKILL under traffic: no connection is refused, and only in-flight requests fail', async () => {
  const pid = await system.proxyPid();
  const traffic = system.traffic('steady', '/', CONNECTIONS);
  await traffic.more(100);
  process.kill(pid, 'SIGKILL');
  // The proxy holds connections until its last thread is dead; then `run` reaps it.
  await waitFor(() => !existsSync(`/proc/${pid}`), { what: 'the death of the proxy', timeoutMs: 5000, everyMs: 1 });
  const goneAt = performance.now();
  await traffic.more(100);
  const { failures } = await traffic.stop();
  expect(failures.filter((failure) => failure.reason.startsWith('ECONNREFUSED'))).toEqual([]);
  expect(failures.filter((failure) => failure.startedAt > goneAt)).toEqual([]);
  expect(failures.length).toBeLessThanOrEqual(CONNECTIONS);
  expect(await system.proxyPid()).not.toBe(pid);
});

test('a deployment works after both were killed', async () => {
  await repository.commit('Second version', respondingApp('second'));
  const { id: appId } = await system.app('steady');
  expect(await system.deploy(appId)).toMatchObject({ state: 'live' });
  expect(await system.get('steady')).toEqual({ status: 200, body: 'second' });
});

test('the control plane is stopped: the app serves, also through restarts of the agent; afterwards all is in sync', async () => {
  const traffic = system.traffic('steady', '/', CONNECTIONS);
  await traffic.more(50);
  await system.controlPlane.stopServices();
  await traffic.more(50);
  await killAgent();
  await traffic.more(50);
  expect((await traffic.stop()).failures).toEqual([]);

  // The agent stops and restarts without a control plane: the saved state is enough.
  await system.stopAgent();
  await system.startAgentAlone('steady');
  expect(await system.get('steady')).toEqual({ status: 200, body: 'second' });

  await repository.commit('Third version', respondingApp('third'));
  const { id: appId } = await system.app('steady');
  const { deploymentId } = await system.product.verbs.createDeployment({ appId });
  await system.controlPlane.start();
  expect(await system.waitForDeployment(deploymentId)).toMatchObject({ state: 'live' });
  expect(await system.get('steady')).toEqual({ status: 200, body: 'third' });
  await waitFor(async () => (await system.server()).inSync, { what: 'the server in sync', timeoutMs: 30_000 });
});

/** Returns the agent's table of nftables, which its comment identifies by the data folder. */
async function ownTable(): Promise<string | undefined> {
  const { stdout } = await run(NFTABLES.file, ['list', 'tables', 'inet']);
  const tables = stdout.split('\n').flatMap((line) => /^table inet (fairlead_\w+)$/.exec(line)?.[1] ?? []);
  for (const table of tables) {
    const listed = await run(NFTABLES.file, ['list', 'table', 'inet', table]);
    if (listed.stdout.includes(`comment "${system.agentFolder}"`)) return table;
  }
  return undefined;
}

test('a firewall reload drops the rules of apps: they come back, and the server’s page says so', async () => {
  expect((await system.serverDetail()).network).toEqual({ warnings: [], repair: null });
  const table = (await ownTable()) ?? '';
  expect(await run(NFTABLES.file, ['delete', 'table', 'inet', table])).toMatchObject({ code: 0 });
  const network = await waitFor(
    async () => {
      const found = (await system.serverDetail()).network;
      return found?.repair === null ? undefined : found;
    },
    { what: 'the word of the repair', timeoutMs: 60_000 },
  );
  expect(network?.repair?.text).toContain('It was put back.');
  expect(network?.warnings).toEqual([]);
  expect(await ownTable()).toBe(table);
});
