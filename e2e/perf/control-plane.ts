// Measures start time, memory and CPU of an idle product.
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../../tools/lib/free-ports.ts';
import { pidsListeningOn } from '../../tools/lib/listeners.ts';
import { type RunningProduct, startProduct } from '../../tools/lib/running-product.ts';
import { commandOf, cpuSeconds, pssBytes, treeOf } from './process-figures.ts';
import { atMost, type Measurement } from './table.ts';

const SETTLE_MS = 10_000;
const IDLE_MS = 30_000;
const MEGABYTE = 1024 * 1024;

/** `data` is an empty folder: the first start fills it, the second is the warm one. */
export async function measureControlPlane(data: string, note: (line: string) => void): Promise<Measurement[]> {
  const ports = await freePorts();
  note('first start: builds, installs and deploys');
  await (await startProduct({ data, ports })).stop();
  note('second start: warm');
  const product = await startProduct({ data, ports });
  try {
    note(`idle for ${(SETTLE_MS + IDLE_MS) / 1000} s`);
    await delay(SETTLE_MS);
    return [atMost('warm npm start to ready', product.readyMs / 1000, 15, 's', 1), ...(await measureIdle(product))];
  } finally {
    await product.stop();
  }
}

async function measureIdle(product: RunningProduct): Promise<Measurement[]> {
  const agent = product.processes().agent;
  if (agent === undefined) throw new Error('the product runs no agent');
  const proxy = pidsListeningOn(product.ports.https).find((pid) => pid !== agent);
  if (proxy === undefined) throw new Error('nothing serves on the HTTPS port');
  // Apps are children of shims, not of the supervisor; all other Node processes of the tree are the product's.
  const nodes = treeOf(product.pid).filter((pid) => pid !== agent && isNode(pid));
  const both = [agent, proxy];

  const cpuBefore = both.map(cpuSeconds);
  const startedAt = performance.now();
  await delay(IDLE_MS);
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = both.map((pid, index) => cpuSeconds(pid) - (cpuBefore[index] ?? 0)).reduce((a, b) => a + b);
  const sum = (pids: readonly number[]) => pids.map(pssBytes).reduce((a, b) => a + b, 0) / MEGABYTE;
  return [
    atMost('idle agent, run and proxy: memory (PSS)', sum(both), 40, 'MB', 1),
    atMost('idle agent, run and proxy: CPU of a core', (cpu / seconds) * 100, 1, '%', 2),
    atMost(`idle control plane, ${nodes.length} Node processes: memory (PSS)`, sum(nodes), 600, 'MB'),
  ];
}

function isNode(pid: number): boolean {
  const command = commandOf(pid);
  return (
    command === 'node' || command.startsWith('node') || command === 'MainThread' || command.startsWith('next-server')
  );
}
