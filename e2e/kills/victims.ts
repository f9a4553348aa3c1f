// Finds and kills the processes of the kill drill. Invariant: signals only a process that it just looked up.
import { readFileSync } from 'node:fs';
import { identityOf, isAlive } from '../../tools/lib/process-identity.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import type { System } from '../system/harness/system.ts';

export const VICTIMS = ['worker', 'gateway', 'run', 'proxy', 'shim', 'database'] as const;
export type Victim = (typeof VICTIMS)[number];

/** Returns the pid of the victim; `app` is the instance with the shim to kill. */
export async function pidOf(system: System, victim: Victim, app: number): Promise<number> {
  switch (victim) {
    case 'worker':
    case 'gateway':
      return required(system.servicePid(victim), victim);
    case 'run':
      return required(system.agentPid, victim);
    case 'proxy':
      return system.proxyPid();
    case 'shim':
      return shimOf(app);
    case 'database':
      return required(system.controlPlane.databasePid, victim);
  }
}

/** Sends SIGKILL. Resolves with the time when the process is gone. */
export async function kill(pid: number): Promise<number> {
  const identity = identityOf(pid);
  if (identity === undefined) throw new Error(`the process ${pid} ended before it was killed`);
  process.kill(pid, 'SIGKILL');
  await waitFor(() => !isAlive(identity), { what: `the death of ${pid}`, timeoutMs: 10_000, everyMs: 1 });
  return performance.now();
}

function shimOf(app: number): number {
  const parent = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${app}/status`, 'utf8'))?.[1]);
  const command = readFileSync(`/proc/${parent}/cmdline`, 'utf8').split('\0');
  if (!command.includes('shim')) throw new Error(`the parent of ${app} is no shim: ${command.join(' ')}`);
  return parent;
}

function required(pid: number | undefined, name: string): number {
  if (pid === undefined) throw new Error(`no ${name} runs`);
  return pid;
}
