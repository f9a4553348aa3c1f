// `npm run perf:deploys`: measures a push until it is live by step, a switch, and the cost of the agent and of idle
// instances, a hundred by default. Prints the machine's load beside the figures and asserts none; `-- --pushes N
// --instances N` runs fewer.
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { AppId } from '@fairlead/contract/ids';
import type { DeploymentDetail } from '@fairlead/core/deployment';
import { waitFor } from '../../tools/lib/wait.ts';
import { SHORT_EXAMPLES } from '../real-apps/list/examples.ts';
import { loaded } from '../system/harness/apps.ts';
import { System } from '../system/harness/system.ts';
import { cpuSeconds, pssBytes } from './process-figures.ts';
import { percentile } from './table.ts';

const MEGABYTE = 1024 * 1024;
const IDLE_MS = 30_000;
/** Maximum instances of one app on an agent. */
const COPIES_MAX = 50;

const { values } = parseArgs({
  options: { pushes: { type: 'string', default: '5' }, instances: { type: 'string', default: '100' } },
});
const say = (line: string) => console.log(line);
const load = () => `load ${loadavg()[0]?.toFixed(2)}`;

say(`${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, ${load()}`);
const system = await System.start({ durable: true });
try {
  for (const { example, healthPath = '' } of SHORT_EXAMPLES) await measurePushes(example, healthPath);
  await measureInstances(Number(values.instances));
} finally {
  await system.stop();
}

async function measurePushes(slug: string, healthPath: string): Promise<void> {
  const repository = await system.repositories.createExample(slug, slug);
  // The first build fetches the runtime, which the server caches.
  const first = await system.createApp(slug, repository, healthPath);
  requireLive(first);
  const traffic = system.traffic(slug, '/');
  await traffic.more(20);
  const deployments: DeploymentDetail[] = [];
  const totals: number[] = [];
  for (let push = 0; push < Number(values.pushes); push++) {
    const commit = await repository.commit(`Push ${push}`, { 'pushed.txt': String(push) });
    const pushedAt = performance.now();
    const deployment = await system.deploy(first.appId);
    totals.push(performance.now() - pushedAt);
    requireLive(deployment);
    if (deployment.commitHash !== commit) throw new Error('another commit was deployed');
    deployments.push(deployment);
  }
  const { answered, failures } = await traffic.stop();
  say(
    `\nexamples/${slug}: ${deployments.length} pushes under traffic (${answered} answered, ${failures.length} failed), ${load()}`,
  );
  report('push to live, as the dashboard hears of it', totals);
  for (const { name: step } of first.steps) {
    report(
      `  ${step}`,
      deployments.map((each) => each.steps.find((one) => one.name === step)?.durationMs ?? 0),
    );
  }
}

async function measureInstances(wanted: number): Promise<void> {
  const repository = await system.repositories.create('idle', loaded('idle'));
  const apps: AppId[] = [];
  const without = await measureAgent();
  for (let left = wanted; left > 0; left -= COPIES_MAX) {
    const slug = `idle-${apps.length}`;
    const deployment = await system.createApp(slug, repository);
    requireLive(deployment);
    const instances = Math.min(left, COPIES_MAX);
    await system.product.verbs.scaleApp({ appId: deployment.appId, instances });
    await waitFor(
      async () => (await system.app(slug)).instances.filter(({ state }) => state === 'healthy').length === instances,
      { what: `${instances} healthy instances`, timeoutMs: 300_000 },
    );
    apps.push(deployment.appId);
  }
  const pids: number[] = [];
  for (let app = 0; app < apps.length; app++) {
    pids.push(...(await system.app(`idle-${app}`)).instances.flatMap(({ pid }) => pid ?? []));
  }
  const shims = pids.map(parentOf);
  const cpuBefore = [...pids, ...shims].map(cpuSeconds);
  const withAll = await measureAgent();
  const cpuAfter = [...pids, ...shims].map(cpuSeconds);
  const sum = (list: readonly number[]) => list.reduce((a, b) => a + b, 0);
  const share = (from: number, to: number) =>
    (((sum(cpuAfter.slice(from, to)) - sum(cpuBefore.slice(from, to))) / withAll.seconds / pids.length) * 100).toFixed(
      3,
    );
  say(`\n${pids.length} idle instances of ${apps.length} apps, over ${IDLE_MS / 1000} s, ${load()}`);
  say(`agent (run and proxy) before: ${without.text}`);
  say(`agent (run and proxy) with them: ${withAll.text}`);
  const each = (list: readonly number[]) => (sum(list.map(pssBytes)) / list.length / MEGABYTE).toFixed(2);
  say(`an instance's own processes: PSS ${each(pids)} MB, CPU ${share(0, pids.length)} % of a core`);
  say(`its shim: PSS ${each(shims)} MB, CPU ${share(pids.length, pids.length * 2)} % of a core`);
}

async function measureAgent(): Promise<{ readonly text: string; readonly seconds: number }> {
  const run = system.agentPid;
  if (run === undefined) throw new Error('no agent runs');
  const both = [run, await system.proxyPid()];
  const before = both.map(cpuSeconds);
  const startedAt = performance.now();
  await delay(IDLE_MS);
  const seconds = (performance.now() - startedAt) / 1000;
  const figures = both.map((pid, index) => {
    const cpu = ((cpuSeconds(pid) - (before[index] ?? 0)) / seconds) * 100;
    return `${index === 0 ? 'run' : 'proxy'} PSS ${(pssBytes(pid) / MEGABYTE).toFixed(1)} MB, CPU ${cpu.toFixed(2)} %`;
  });
  return { text: figures.join('; '), seconds };
}

function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

function requireLive({ state, failureMessage }: DeploymentDetail): void {
  if (state !== 'live') throw new Error(`a deployment ended ${state}: ${failureMessage}`);
}

function report(what: string, milliseconds: readonly number[]): void {
  const at = (share: number) => `${Math.round(percentile(milliseconds, share))} ms`.padStart(9);
  say(`${what.padEnd(46)} p50 ${at(0.5)}  p90 ${at(0.9)}  most ${at(1)}`);
}
