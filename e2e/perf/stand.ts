// Starting and ending the processes of a measurement.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';

export interface Serving {
  readonly child: ChildProcess;
  readonly address: string;
  /** The process to measure, where it is not the child itself. */
  readonly pid?: number;
}

/** Starts a program that prints `{"address", "pid"}` once it serves and ends with its standard input. */
export async function serving(program: string, args: readonly string[]): Promise<Serving> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{"address"')) return { child, ...JSON.parse(line) };
  }
  throw new Error(`${program} ${args[0]} ended before it served.`);
}

/** Starts a program and waits until something listens at `address`. */
export async function listening(program: string, args: readonly string[], address: string): Promise<ChildProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [host, port] = address.split(':');
  while (child.exitCode === null) {
    const socket = connect({ host, port: Number(port) });
    const outcome = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ])
      // A refusal is an `error` before it is a `close`.
      .catch(() => false);
    socket.destroy();
    if (outcome) return child;
  }
  throw new Error(`${program} ended before it listened on ${address}.`);
}

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a listening socket has no port.');
  return address.port;
}

/** Ends a process: by its standard input where that is ours, else by SIGTERM. */
export async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  if (child.stdin === null) child.kill('SIGTERM');
  else child.stdin.end();
  await exit;
}
