// Tests the lab in front of a copy of the live release: its network path, that it alone gets the requests, and that nothing is left.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppId } from '@fairlead/contract/ids';
import { type BenchmarkPlan, benchmarkPlanSchema, cancelBenchmark } from '@fairlead/core/benchmark';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { HAPROXY, NFTABLES, NGINX, requirePrograms } from '../../tools/test/debian.ts';
import { runPlan } from '../lab/run-scenario.ts';
import { INSTANCE_COUNTING_APP } from './harness/apps.ts';
import { System } from './harness/system.ts';

const SLUG = 'copied';
const SECRET = 'a secret of the app';

interface Seen {
  readonly isCopy: boolean;
  readonly token: string;
  readonly requests: number;
  readonly paths: readonly string[];
  readonly hosts: readonly string[];
}

let system: System;
let appId: AppId;
beforeAll(async () => {
  expect(await requirePrograms([NGINX, HAPROXY, NFTABLES])).toBeUndefined();
  system = await System.start();
  const repository = await system.repositories.create(SLUG, INSTANCE_COUNTING_APP);
  appId = await system.createAppWith(SLUG, repository, {});
  await system.setSecrets(appId, [{ name: 'API_TOKEN', value: SECRET }]);
  expect(await system.deploy(appId)).toMatchObject({ state: 'live' });
});
afterAll(() => system?.stop());

const planOf = (changes: object): BenchmarkPlan =>
  benchmarkPlanSchema.parse({
    ...{ upstream: 'lab', labApp: { server: 'release' }, path: '/page?size=2', protocols: ['http1'] },
    ...{ targets: ['proxy', 'direct', 'floor', 'nginx', 'haproxy'], concurrency: [4], repeats: 1, warmupMs: 100 },
    ...changes,
  });

/** Returns the processes of copies, and those that an agent started in their networks. */
function processesOfCopies(agent = system.agentPid): number[] {
  const of = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'latin1').split('\0');
    } catch {
      // The process has ended, or is ending.
      return [];
    }
  };
  const isOfCopy = (pid: string) => {
    const [, command, , network = ''] = of(pid, 'cmdline');
    const isOfLab = command === 'lab' && network.startsWith(`/proc/${agent}/fd/`);
    return isOfLab || of(pid, 'environ').includes('FAIRLEAD_BENCHMARK_COPY=1');
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isOfCopy(name))
    .map(Number);
}

const instanceFolders = () => readdirSync(join(system.agentFolder, 'instances')).sort();
const live = async () => (await system.app(SLUG)).instances.map(({ id, pid }) => `${id} ${pid}`);
const seenByLive = async () => JSON.parse((await system.get(SLUG, '/seen')).body) as Seen;

async function nothingLeft(): Promise<void> {
  await waitFor(() => processesOfCopies().length === 0, { what: 'the end of the copy', timeoutMs: 60_000 });
  const isAlone = async () => instanceFolders().length === (await live()).length;
  await waitFor(isAlone, { what: 'the end of its folder', timeoutMs: 30_000 });
}

test('proxies and floor are measured in front of a copy, which alone gets the requests and leaves nothing', async () => {
  const instances = await live();
  const plan = planOf({ protocols: ['http1', 'http2', 'http1-cleartext'], durationMs: 500 });
  let answers = 0;
  let isMeasured = false;
  const visits = (async () => {
    while (!isMeasured) {
      expect((await system.get(SLUG, '/seen')).status).toBe(200);
      answers += 1;
    }
  })();
  const run = await runPlan(system, appId, plan).finally(() => {
    isMeasured = true;
  });
  await visits;
  expect(answers).toBeGreaterThan(0);
  expect(run).toMatchObject({ state: 'succeeded', failureMessage: null, facts: { release: { number: 1 } } });
  expect(run.plan.host).toBe(`${SLUG}.localhost`);
  expect(new Set(run.rows.map(({ target }) => target))).toEqual(new Set(plan.targets));
  for (const row of run.rows) {
    expect(row).toMatchObject({ errors: 0, networkPath: 'bench-namespace' });
    expect(Math.min(row.requests, row.appConnections, row.appCpuUs), JSON.stringify(row)).toBeGreaterThan(0);
  }
  await nothingLeft();
  expect(await live()).toEqual(instances);
  expect(await seenByLive()).toMatchObject({ isCopy: false, requests: 0 });
  const copies = seenByCopies();
  expect(copies).toHaveLength(1);
  const [copy] = copies;
  expect(copy).toMatchObject({ isCopy: true, token: SECRET, paths: ['/page?size=2'] });
  expect(copy?.hosts.map((host) => host.replace(/:\d+$/, ''))).toEqual(
    [...new Array(copy?.hosts.length)].map(() => run.plan.host),
  );
  expect(copy?.requests).toBeGreaterThanOrEqual(run.rows.reduce((sum, { requests }) => sum + requests, 0));
});

test('a cancelled run leaves nothing of its copy', async () => {
  const { runId } = await system.product.verbs.createBenchmark({ appId, plan: planOf({ durationMs: 30_000 }) });
  await waitFor(() => processesOfCopies().length > 1, { what: 'a copy and a proxy', timeoutMs: 60_000 });
  await system.asSystem((ctx) => cancelBenchmark(ctx, { runId }));
  await nothingLeft();
  expect(await seenByLive()).toMatchObject({ requests: 0 });
});

test('a killed agent leaves nothing of its copy, and the next one measures with another', async () => {
  const instances = await live();
  const plan = planOf({ targets: ['proxy', 'direct'], durationMs: 1000, repeats: 5 });
  const { runId } = await system.product.verbs.createBenchmark({ appId, plan });
  const interrupted = async () => (await system.product.verbs.getBenchmark({ runId })).rowsDone >= 2;
  await waitFor(interrupted, { what: 'two rows', timeoutMs: 60_000 });
  const processes = processesOfCopies();
  expect(processes.length).toBeGreaterThan(1);
  const agent = system.agentPid;
  if (agent === undefined) throw new Error('no agent runs');
  process.kill(agent, 'SIGKILL');
  const areGone = () => processes.every((pid) => !processesOfCopies(agent).includes(pid));
  await waitFor(areGone, { what: 'the end of the first copy', timeoutMs: 60_000 });
  const finished = async () => {
    const run = await system.product.verbs.getBenchmark({ runId });
    return run.finishedAt === null ? undefined : run;
  };
  const run = await waitFor(finished, { what: `the end of ${runId}`, timeoutMs: 120_000 });
  expect(run).toMatchObject({ state: 'succeeded', failureMessage: null, rowsDone: 10 });
  await nothingLeft();
  expect(await live()).toEqual(instances);
  expect(await seenByLive()).toMatchObject({ requests: 0 });
});

/** Copies have the home of the app, where each instance writes what it has seen when it ends. */
function seenByCopies(): Seen[] {
  const homes = join(system.agentFolder, 'homes');
  const files = readdirSync(homes).flatMap((home) =>
    readdirSync(join(homes, home)).map((name) => join(homes, home, name)),
  );
  const seen = files
    .filter((file) => file.endsWith('.seen'))
    .map((file) => JSON.parse(readFileSync(file, 'utf8')) as Seen);
  return seen.filter(({ isCopy }) => isCopy);
}
