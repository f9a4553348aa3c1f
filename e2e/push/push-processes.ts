// Processes of the push check: web (its webhook endpoint), worker and gateway. Starts a process again that has ended, as the
// product's supervisor does.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

const programs = {
  worker: 'apps/worker/src/main.ts',
  gateway: 'apps/gateway/src/main.ts',
  intake: 'e2e/push/intake-process.ts',
} as const;

export type ProcessName = keyof typeof programs;

export interface Processes {
  /** Resolves once all are ready. */
  start(): Promise<void>;
  /** SIGKILL. Resolves once the process is ready again. */
  kill(name: ProcessName): Promise<void>;
  /** SIGSTOP, until the returned function is called. */
  pause(name: ProcessName): () => void;
  stop(): Promise<void>;
}

const restartMs = 200;
const names = Object.keys(programs) as ProcessName[];

export function createProcesses(env: NodeJS.ProcessEnv): Processes {
  const children = new Map<ProcessName, ChildProcess>();
  const ready = new Map<ProcessName, PromiseWithResolvers<void>>(names.map((name) => [name, Promise.withResolvers()]));
  const stopping = new AbortController();
  const runs: Promise<void>[] = [];

  async function keepRunning(name: ProcessName): Promise<void> {
    while (!stopping.signal.aborted) {
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', programs[name]], {
        cwd: root,
        env,
        stdio: ['ignore', 'pipe', env.FAIRLEAD_CHECK_VERBOSE === undefined ? 'ignore' : 'inherit'],
      });
      children.set(name, child);
      child.stdout?.on('data', (chunk) => {
        if (env.FAIRLEAD_CHECK_VERBOSE !== undefined) process.stderr.write(chunk);
        if (String(chunk).includes('ready')) ready.get(name)?.resolve();
      });
      await once(child, 'exit');
      await delay(restartMs);
    }
  }

  return {
    start: async () => {
      runs.push(...names.map(keepRunning));
      await Promise.all([...ready.values()].map(({ promise }) => promise));
    },
    kill: async (name) => {
      const fresh = Promise.withResolvers<void>();
      ready.set(name, fresh);
      children.get(name)?.kill('SIGKILL');
      await fresh.promise;
    },
    pause: (name) => {
      children.get(name)?.kill('SIGSTOP');
      return () => void children.get(name)?.kill('SIGCONT');
    },
    stop: async () => {
      stopping.abort();
      for (const child of children.values()) child.kill('SIGKILL');
      await Promise.all(runs);
    },
  };
}
