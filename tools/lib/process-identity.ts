// Identifies processes by pid and start time, so that a reused pid is never signalled. Invariant: ends no process by
// its name.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in clock ticks since boot, from /proc. */
  readonly startTicks: string;
}

const POLL_MS = 50;

export function identityOf(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain spaces and parentheses; the state is the first field after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const startTicks = fields[19];
    // The first thread is a zombie before the others have ended, and until then the process's sockets are open.
    const isGone = fields[0] === 'Z' && Number(fields[17]) <= 1;
    return startTicks === undefined || isGone ? undefined : { pid, startTicks };
  } catch {
    return undefined; // the process is gone
  }
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identityOf(identity.pid)?.startTicks === identity.startTicks;
}

/** Sends `signal`, then SIGKILL after `graceMs`. Resolves when the process is gone. */
export async function endProcess(identity: ProcessIdentity, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  if (!isAlive(identity)) return;
  process.kill(identity.pid, signal);
  const deadline = performance.now() + graceMs;
  while (isAlive(identity)) {
    if (performance.now() > deadline) {
      process.kill(identity.pid, 'SIGKILL');
      return;
    }
    await delay(POLL_MS);
  }
}

/** Kills a process and its descendants, except those that left its tree. */
export function killTree(pid: number): void {
  // Stop it first, so that it starts no more children meanwhile.
  if (!signal(pid, 'SIGSTOP')) return;
  childrenOf(pid).forEach(killTree);
  signal(pid, 'SIGKILL');
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false; // the process is gone
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return []; // the process is gone
  }
}
