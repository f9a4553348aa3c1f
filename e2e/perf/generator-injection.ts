// Measures a server that injects delays and faults (agents/crates/bench/examples/inject.rs) in an open loop, and compares
// the rows with what the server counted.
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { median } from '@fairlead/core/benchmark/statistics';
import { run } from '../../tools/lib/command.ts';
import { cacheFolder } from '../protocols/folders.ts';
import { type Target, writePlan } from './generators.ts';
import { goProgram } from './peer-install.ts';
import { startServing, stopProcess } from './processes.ts';

const DELAYS_MS = [5, 20, 100];
const CONNECTIONS = 32;
const RATE = 100;
const FAULT_RATE = 500;
const FAULT_EVERY = 7;
const GRPCIO = 'grpcio==1.85.3';

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
  const vegeta = await findVegeta(setup.note);
  const errors: number[] = [];
  for (const delayMs of DELAYS_MS) {
    const rounds: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < setup.rounds; round += 1) {
      const { row, counts } = await inject(setup, [`${delayMs * 1000}`, 'none', '1'], RATE);
      rounds.push((100 * Math.abs(row.mean_us - counts.delay_mean_us)) / counts.delay_mean_us);
      if (vegeta !== undefined) theirs.push(await vegetaErrorPercent(setup, vegeta, delayMs));
    }
    const error = median(rounds) ?? Number.NaN;
    const peer = vegeta === undefined ? '' : `, of vegeta ${median(theirs)?.toFixed(2)} %`;
    setup.note(`delay ${delayMs} ms: error ${error.toFixed(2)} %${peer}`);
    errors.push(error);
  }
  return Math.max(...errors);
}

/** Returns the number of errors in the rows and the number that the servers injected. */
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
  for (let round = 0; round < setup.rounds; round += 1) {
    const { failures, injected } = await injectIntoCalls(setup);
    setup.note(`gRPC status: ${JSON.stringify(failures)} of ${injected}`);
    sum.counted += failures.grpc_status ?? 0;
    sum.injected += injected;
  }
  return sum;
}

/** Measures calls of a server of grpcio, which fails some of them. */
async function injectIntoCalls(setup: InjectionSetup) {
  const modules = await installGrpcio();
  const program = join(import.meta.dirname, 'grpc_server.py');
  const env = { ...process.env, PYTHONPATH: modules };
  const child = spawn('python3', [program, `${FAULT_EVERY}`, `${CONNECTIONS}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env,
  });
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { address } = JSON.parse(await nextOf(lines));
    const contender = { name: 'calls', url: `http://${address}/fairlead.Test/Echo`, protocol: 'grpc' };
    const campaign = { contenders: [contender], concurrency: [CONNECTIONS], rate: FAULT_RATE };
    const file = join(setup.folder, 'calls.json');
    writeFileSync(file, JSON.stringify({ ...campaign, duration_ms: setup.seconds * 1000 }));
    const { code, stdout, output } = await run(setup.agent, ['bench', '--plan', file, '--json']);
    if (code !== 0) throw new Error(output.trim());
    child.stdin.end();
    const { injected }: { injected: number } = JSON.parse(await nextOf(lines));
    const { failures }: { failures: Record<string, number> } = JSON.parse(stdout);
    return { failures, injected };
  } finally {
    await stopProcess(child);
  }
}

async function nextOf(lines: AsyncIterator<string>): Promise<string> {
  const { value, done } = await lines.next();
  if (done === true) throw new Error('the server of grpcio ended early');
  return value;
}

/** Installs grpcio of the Python Package Index; returns the folder of its modules. */
async function installGrpcio(): Promise<string> {
  const modules = join(cacheFolder(GRPCIO), 'modules');
  if (!existsSync(join(modules, 'grpc'))) {
    const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', modules, GRPCIO];
    const { code, output } = await run('python3', args);
    if (code !== 0) throw new Error(`pip could not install ${GRPCIO}:\n${output.trimEnd()}`);
  }
  return modules;
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

/** Installs vegeta; it is printed beside our errors and not judged. */
function findVegeta(note: (line: string) => void): Promise<string | undefined> {
  const module = 'github.com/tsenart/vegeta/v12';
  return goProgram({ name: 'vegeta', module, version: 'v12.13.0', package: module }).then(
    ({ file }) => file,
    (error: unknown) => {
      note(`vegeta takes no part: ${error instanceof Error ? error.message : error}`);
      return undefined;
    },
  );
}

async function vegetaErrorPercent(setup: InjectionSetup, vegeta: string, delayMs: number): Promise<number> {
  const server = await startServing(setup.inject, [`${delayMs * 1000}`, 'none', '1', '0']);
  try {
    const [targets, results] = [join(setup.folder, 'targets'), join(setup.folder, 'results')];
    writeFileSync(targets, `GET http://${server.address}/\n`);
    const load = [`-rate=${RATE}`, `-duration=${setup.seconds}s`, `-targets=${targets}`, `-output=${results}`];
    const attack = await run(vegeta, ['attack', ...load]);
    const report = await run(vegeta, ['report', '-type=json', results]);
    if (attack.code !== 0 || report.code !== 0) throw new Error(`vegeta: ${attack.output}${report.output}`.trim());
    const counts = JSON.parse(await (await fetch(`http://${server.address}/counts`)).text());
    const meanUs = JSON.parse(report.stdout).latencies.mean / 1000;
    return (100 * Math.abs(meanUs - counts.delay_mean_us)) / counts.delay_mean_us;
  } finally {
    await stopProcess(server.child);
  }
}
