// Tests that visitors notice nothing, or only failed in-flight requests, when one of Fairlead's processes ends.
import { existsSync } from 'node:fs';
import { benchmarkPlanSchema } from '@fairlead/core/benchmark';
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

test('`run` gets SIGKILL during a benchmark: it goes on after the last row', async () => {
  const { id: appId } = await system.app('steady');
  const plan = benchmarkPlanSchema.parse({ protocols: ['http1'], concurrency: [2], durationMs: 500, warmupMs: 0 });
  const { runId } = await system.product.verbs.createBenchmark({ appId, plan });
  const interrupted = await waitFor(
    async () => {
      const run = await system.product.verbs.getBenchmark({ runId });
      return run.rowsDone >= 2 ? run : undefined;
    },
    { what: 'two rows', timeoutMs: 30_000 },
  );
  await killAgent();
  const run = await waitFor(
    async () => {
      const current = await system.product.verbs.getBenchmark({ runId });
      // An agent that starts anew reports no row until it has measured the first one again.
      expect(current.rowsDone).toBeGreaterThanOrEqual(interrupted.rowsDone);
      return current.finishedAt === null ? undefined : current;
    },
    { what: `the end of ${runId}`, timeoutMs: 60_000, everyMs: 50 },
  );
  expect(run).toMatchObject({ state: 'succeeded', rowsDone: 6, rowsTotal: 6 });
  expect(run.rows.map(({ position, target }) => [position, target])).toEqual(
    ['proxy', 'direct', 'proxy', 'direct', 'proxy', 'direct'].map((target, position) => [position, target]),
  );
  expect(run.rows.slice(0, 2)).toEqual(interrupted.rows.slice(0, 2));
  for (const { noise } of run.rows) expect(noise?.machineCpuUs).toBeGreaterThan(0);
  expect(run.rows.every(({ noise }) => noise?.otherCpuUs !== null)).toBe(true);
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
