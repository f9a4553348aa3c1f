// Measures a server that injects delays and faults (agents/crates/bench/examples/inject.rs) in an open loop, and compares
// the rows with what the server counted.
import { run } from '../../tools/lib/command.ts';
import { type Target, writePlan } from './generators.ts';
import { startServing, stopProcess } from './processes.ts';
import { median } from './statistics.ts';

const DELAYS_MS = [5, 20, 100];
const CONNECTIONS = 32;
const RATE = 100;
const FAULT_RATE = 500;
const FAULT_EVERY = 7;

/** Builds of the agent and of the injecting server. */
export interface InjectionSetup {
  readonly agent: string;
  readonly inject: string;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly note: (line: string) => void;
}

interface Injected {
  readonly row: { readonly mean_us: number; readonly errors: number; readonly failures: Record<string, number> };
  readonly counts: { readonly injected: number; readonly delay_mean_us: number };
}

/** Returns the largest error of the mean latency, in percent of the mean delay that the server measured itself. */
export async function delayErrorPercent(setup: InjectionSetup): Promise<number> {
  const errors: number[] = [];
  for (const delayMs of DELAYS_MS) {
    const rounds: number[] = [];
    for (let round = 0; round < setup.rounds; round += 1) {
      const { row, counts } = await inject(setup, [`${delayMs * 1000}`, 'none', '1'], RATE);
      rounds.push((100 * Math.abs(row.mean_us - counts.delay_mean_us)) / counts.delay_mean_us);
    }
    const error = median(rounds);
    setup.note(`delay ${delayMs} ms: error ${error.toFixed(2)} %`);
    errors.push(error);
  }
  return Math.max(...errors);
}

/** Returns the number of errors in the rows and the number that the server injected. */
export async function countErrors(setup: InjectionSetup): Promise<{ counted: number; injected: number }> {
  const sum = { counted: 0, injected: 0 };
  for (const fault of ['status', 'reset']) {
    for (let round = 0; round < setup.rounds; round += 1) {
      const { row, counts } = await inject(setup, ['0', fault, `${FAULT_EVERY}`], FAULT_RATE);
      setup.note(`${fault}: ${JSON.stringify(row.failures)} of ${counts.injected}`);
      sum.counted += row.errors;
      sum.injected += counts.injected;
    }
  }
  return sum;
}

async function inject(setup: InjectionSetup, args: readonly string[], rate: number): Promise<Injected> {
  // The first request of each client is not measured.
  const server = await startServing(setup.inject, [...args, `${CONNECTIONS}`]);
  try {
    const { address } = server;
    const basics = { name: 'inject', protocol: 'http1', secure: false, caFile: '' } as const;
    const target: Target = { ...basics, address, connections: CONNECTIONS, streams: 1 };
    const plan = writePlan(setup.folder, target, { rate, duration_ms: setup.seconds * 1000 });
    const { code, stdout, output } = await run(setup.agent, ['bench', '--plan', plan, '--json']);
    if (code !== 0) throw new Error(output.trim());
    const counts = await fetch(`http://${address}/counts`);
    return { row: JSON.parse(stdout), counts: JSON.parse(await counts.text()) };
  } finally {
    await stopProcess(server.child);
  }
}
