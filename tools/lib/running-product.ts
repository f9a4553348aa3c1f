// Runs a whole `npm start` in a scratch folder and on free ports, for browser tests, measurements and the screenshot.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PORTS, type PortName } from '../start/options.mjs';
import { ROOT, toolEnvironment } from './command.ts';
import { freePorts } from './free-ports.ts';
import { nodeOf } from './install.mjs';
import { isAlive, type ProcessIdentity } from './process-identity.ts';

export interface RunningProduct {
  /** URL of the dashboard, such as http://localhost:4400. */
  readonly url: string;
  readonly setupToken: string | undefined;
  readonly ports: Readonly<Record<PortName, number>>;
  readonly data: string;
  readonly caFile: string;
  /** Process id of the tree's root. */
  readonly pid: number;
  /** Time from the start of the process to the summary, in milliseconds. */
  readonly readyMs: number;
  readonly summary: string;
  /** Returns the pids of the supervised processes by name. */
  processes(): Readonly<Record<string, number>>;
  /** Kills the supervisor as a crash would; its children keep running. */
  kill(): void;
  /** True while the supervisor runs. */
  isAlive(): boolean;
  stop(): Promise<void>;
}

export interface ProductOptions {
  /** Agent to use; undefined builds the release one. */
  readonly agent?: string;
  /** Existing data folder; undefined creates one that `stop` deletes. */
  readonly data?: string;
  readonly ports?: Readonly<Record<PortName, number>>;
  /** Options of `npm start` in place of those for `data` and `ports`, which then name the effective ones. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Command prefix for a product in a namespace of its own; it must exec the product and not fork it. */
  readonly prefix?: readonly string[];
  readonly startTimeoutMs?: number;
  readonly onOutput?: (text: string) => void;
}

const START_TIMEOUT_MS = 15 * 60_000;
const STOP_TIMEOUT_MS = 60_000;
const UP = /Ctrl-C stops everything/;

export async function startProduct(options: ProductOptions = {}): Promise<RunningProduct> {
  const scratch = options.data === undefined ? mkdtempSync(join(tmpdir(), 'fairlead-product-')) : undefined;
  if (scratch !== undefined) chmodSync(scratch, 0o711);
  const data = options.data ?? join(scratch ?? '', 'data');
  const ports = options.ports ?? (await freePorts());
  const portArgs = PORTS.flatMap(({ name, option }) => [`--${option}`, String(ports[name])]);
  const args = [...(options.args ?? ['--data', data, ...portArgs])];
  if (options.agent !== undefined) args.push('--agent', options.agent);

  const startedAt = performance.now();
  const node = [nodeOf(ROOT), '--disable-warning=ExperimentalWarning', join(ROOT, 'tools/start.mjs')];
  const [command = '', ...words] = [...(options.prefix ?? []), ...node, ...args];
  const child = spawn(command, words, {
    cwd: ROOT,
    env: { ...toolEnvironment(options.env), INIT_CWD: ROOT },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = async () => {
    await end(child);
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  };
  try {
    const summary = await readUntilUp(child, options);
    const { pid } = child;
    if (pid === undefined) throw new Error('the product has no process');
    const { supervisor } = readRecord(data);
    return {
      url: /^ {2}Dashboard +(\S+)$/m.exec(summary)?.[1] ?? '',
      setupToken: /\/setup#token=(\S+)/.exec(summary)?.[1],
      ports,
      data,
      caFile: join(data, 'agent/ca/ca.pem'),
      pid,
      readyMs: performance.now() - startedAt,
      summary,
      processes: () => readRecord(data).processes,
      kill() {
        process.kill(supervisor.pid, 'SIGKILL');
        child.kill('SIGKILL');
      },
      isAlive: () => isAlive(supervisor),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function readUntilUp(child: ChildProcess, options: ProductOptions): Promise<string> {
  const timeoutMs = options.startTimeoutMs ?? START_TIMEOUT_MS;
  return new Promise((resolve, reject) => {
    let output = '';
    const timer = setTimeout(() => reject(new Error(`not up after ${timeoutMs / 1000} s:\n${output}`)), timeoutMs);
    const collect = (text: string) => {
      output += text;
      options.onOutput?.(text);
      if (!UP.test(output)) return;
      clearTimeout(timer);
      resolve(output);
    };
    child.stdout?.setEncoding('utf8').on('data', collect);
    child.stderr?.setEncoding('utf8').on('data', collect);
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`ended with ${code} before it was up:\n${output}`));
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

function readRecord(data: string): { supervisor: ProcessIdentity; processes: Record<string, number> } {
  const { supervisor, processes } = JSON.parse(readFileSync(join(data, 'run/processes.json'), 'utf8')) as {
    supervisor: ProcessIdentity;
    processes: Record<string, ProcessIdentity>;
  };
  return { supervisor, processes: Object.fromEntries(Object.entries(processes).map(([name, { pid }]) => [name, pid])) };
}
