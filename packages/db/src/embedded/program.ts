// Runs PostgreSQL's programs under the server's account, in their own process group so that a terminal's Ctrl-C reaches
// us first: we stop what uses the database before the database. Never through a shell.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { ServerAccount } from './account.ts';
import type { Binaries } from './binaries.ts';

export interface RunningProgram {
  readonly child: ChildProcess;
  /** Its last lines, newest last. */
  readonly words: readonly string[];
}

const wordsMax = 20;

export function spawnProgram(
  binaries: Binaries,
  program: 'initdb' | 'pg_ctl' | 'postgres',
  args: readonly string[],
  account: ServerAccount | null,
  onLine: (line: string) => void,
): RunningProgram {
  const words: string[] = [];
  const child = spawn(join(binaries.root, 'bin', program), args, {
    // A clean environment: our caller's PGDATA, PGPORT and the like must not reach it. NODE_ENV has no effect here,
    // but Next's types require one in every environment.
    env: { NODE_ENV: 'production', PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(account === null ? {} : { uid: account.uid, gid: account.gid }),
  });
  const read = (stream: Readable): void => {
    createInterface({ input: stream }).on('line', (line) => {
      words.push(line);
      if (words.length > wordsMax) words.shift();
      onLine(line);
    });
  };
  read(child.stdout);
  read(child.stderr);
  return { child, words };
}

/** Runs a program to its end. */
export async function runProgram(
  ...spawnArgs: Parameters<typeof spawnProgram>
): Promise<{ readonly exitCode: number | null; readonly words: readonly string[] }> {
  const { child, words } = spawnProgram(...spawnArgs);
  // `close` comes after the last line was read, `exit` may come before.
  const [exitCode] = await once(child, 'close');
  return { exitCode: typeof exitCode === 'number' ? exitCode : null, words };
}
