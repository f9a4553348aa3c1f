// Requests that a visitor keeps sending during a step, and the time for which the dashboard did not answer.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { ROOT } from '../../tools/lib/command.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { curl, type Site } from '../system/harness/machine-client.ts';
import type { Machine } from '../system/harness/machines.ts';

export interface Target {
  readonly host: string;
  readonly address: string;
  readonly port: number;
  /** Authority of the certificate. */
  readonly caFile: string;
}

export interface Visits {
  readonly answered: number;
  /** Reason of each lost request. */
  readonly reasons: readonly string[];
}

/** Sends requests from `machine` to all targets while `work` runs. */
export async function duringVisits<T>(
  machine: Machine,
  targets: readonly Target[],
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly visits: Visits }> {
  const visitors = targets.map((target) => startVisitor(machine, target));
  try {
    const result = await work();
    const all = await Promise.all(visitors.map((visitor) => visitor.stop()));
    const answered = all.reduce((sum, visits) => sum + visits.answered, 0);
    return { result, visits: { answered, reasons: all.flatMap((visits) => visits.reasons) } };
  } catch (error) {
    await Promise.all(visitors.map((visitor) => visitor.stop()));
    throw error;
  }
}

function startVisitor(machine: Machine, { host, address, port, caFile }: Target): { stop(): Promise<Visits> } {
  const node = [nodeOf(ROOT), `${import.meta.dirname}/visitor.ts`];
  const [program = '', ...args] = [...machine.prefix, ...node, host, address, String(port), caFile];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const [output, ended] = [text(child.stdout), once(child, 'exit')];
  return {
    async stop() {
      child.stdin.end();
      const [code] = (await ended) as [number | null];
      if (code !== 0) throw new Error(`the visitor ended with ${code}`);
      return JSON.parse(await output) as Visits;
    },
  };
}

const WATCH_PAUSE_MS = 100;

/** Measures how long the dashboard did not answer while `work` ran. */
export async function dashboardAway<T>(
  { machine, url, caFile }: Site,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly awayMs: number }> {
  let [awayMs, isStopped, lastAnswer] = [0, false, performance.now()];
  const answers = async () => {
    const { status } = await curl(machine, `${url}/healthz`, { caFile, flags: ['--max-time', '2'] });
    return status === 200;
  };
  const watch = async () => {
    while (!isStopped) {
      if (await answers().catch(() => false)) {
        awayMs = Math.max(awayMs, performance.now() - lastAnswer);
        lastAnswer = performance.now();
      }
      await delay(WATCH_PAUSE_MS);
    }
  };
  const watching = watch();
  try {
    return { result: await work(), awayMs };
  } finally {
    isStopped = true;
    await watching;
  }
}
