// Starts and ends the processes of a measurement.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { treeOf } from './process-figures.ts';

const LISTEN_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

export interface ServingProcess {
  readonly child: ChildProcess;
  readonly address: string;
  /** Address with TLS, which only the lab's floor has. */
  readonly https?: string | null;
}

/** Starts a program that prints `{"address"}` once it serves, and that ends with its standard input. */
export async function startServing(program: string, args: readonly string[]): Promise<ServingProcess> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{"address"')) return { child, ...JSON.parse(line) };
  }
  throw new Error(`${program} ${args[0]} ended before it served`);
}

/**
 * Serves like `startServing`, on a Unix socket whose path is the last argument. Every user may connect: Fairlead's proxy,
 * started by root, serves as a user of its own. The socket's folder is gone when the program has ended.
 */
export async function startServingOnSocket(program: string, args: readonly string[]): Promise<ServingProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-app-'));
  try {
    chmodSync(folder, 0o711);
    const socket = join(folder, 'socket');
    const app = await startServing(program, [...args, socket]);
    app.child.once('exit', () => rmSync(folder, { recursive: true }));
    chmodSync(socket, 0o666);
    return app;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Its working directory. Default: that of this process. */
  readonly cwd?: string;
  /** File for its output. */
  readonly log: string;
  readonly address: string;
}

/** Starts a program and waits until something listens at `address`. */
export async function startListening({ program, args, env, cwd, log, address }: Launch): Promise<ChildProcess> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const output = createWriteStream(log);
  child.stdout.pipe(output, { end: false });
  child.stderr.pipe(output, { end: false });
  let fault: Error | undefined;
  child.once('error', (error) => {
    fault = error;
  });
  const deadline = performance.now() + LISTEN_TIMEOUT_MS;
  while (fault === undefined && child.exitCode === null && child.signalCode === null) {
    if (await accepts(address)) return child;
    if (performance.now() > deadline) {
      await stopProcess(child);
      throw new Error(`did not listen within ${LISTEN_TIMEOUT_MS / 1000} s`);
    }
    await delay(POLL_MS);
  }
  throw fault ?? new Error(`ended with ${child.exitCode ?? child.signalCode} before it listened`);
}

async function accepts(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  const socket = connect({ host, port: Number(port) });
  const outcome = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ])
    // A refused connection emits `error` before `close`.
    .catch(() => false);
  socket.destroy();
  return outcome;
}

/** Returns a free TCP port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a listening socket has no port');
  return address.port;
}

/**
 * Ends a process by its standard input if that is a pipe of ours, else by SIGTERM; kills it and its descendants if it
 * stays.
 */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  if (child.stdin === null) child.kill('SIGTERM');
  else child.stdin.end();
  const patience = AbortSignal.timeout(STOP_TIMEOUT_MS);
  const all = treeOf(child.pid);
  const kill = () => {
    for (const pid of all) killNow(pid);
  };
  patience.addEventListener('abort', kill);
  await exit;
  patience.removeEventListener('abort', kill);
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // The process is gone already.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
