// Steady traffic to one app through the proxy on a few connections. Reports the start and end of every
// failure, so that a test can decide which ones were allowed.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';

export interface Failure {
  readonly startedAt: number;
  readonly failedAt: number;
  /** Reason such as `ECONNREFUSED`, `ECONNRESET` or `status 503`. */
  readonly reason: string;
}

export interface Traffic {
  readonly answered: () => number;
  /** Resolves after `count` more responses. */
  more(count: number, timeoutMs?: number): Promise<void>;
  stop(): Promise<{ readonly answered: number; readonly failures: readonly Failure[] }>;
}

export interface TrafficOptions {
  readonly host: string;
  /** Address of the proxy. Default: loopback. */
  readonly address?: string;
  readonly port: number;
  readonly caFile: string;
  readonly path: string;
  readonly connections: number;
  /** False for a new connection with each request. */
  readonly keepAlive?: boolean;
}

/** Pause of a connection after each request: without it, one test takes a whole core from the others. */
const PAUSE_MS = 10;
const REQUEST_TIMEOUT_MS = 10_000;

export function startTraffic(options: TrafficOptions): Traffic {
  const agent = new Agent({
    keepAlive: options.keepAlive !== false,
    maxSockets: options.connections,
    ca: readFileSync(options.caFile),
  });
  const failures: Failure[] = [];
  const waiting = new Set<() => void>();
  let answered = 0;
  let stopping = false;

  async function loop(): Promise<void> {
    while (!stopping) {
      const startedAt = performance.now();
      try {
        await ask(options, agent);
        answered++;
        for (const wake of waiting) wake();
      } catch (error) {
        const reason =
          error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
        failures.push({ startedAt, failedAt: performance.now(), reason });
      }
      await delay(PAUSE_MS);
    }
  }
  const loops = Array.from({ length: options.connections }, loop);

  return {
    answered: () => answered,
    more(count, timeoutMs = 20_000) {
      const goal = answered + count;
      return new Promise((resolve, reject) => {
        const done = (error?: Error) => {
          clearTimeout(timer);
          waiting.delete(check);
          if (error === undefined) resolve();
          else reject(error);
        };
        const check = () => answered >= goal && done();
        const timer = setTimeout(
          () =>
            done(
              new Error(
                `only ${answered - goal + count} of ${count} requests were answered; ${JSON.stringify(failures.slice(-3))}`,
              ),
            ),
          timeoutMs,
        );
        waiting.add(check);
      });
    },
    async stop() {
      stopping = true;
      await Promise.all(loops);
      agent.destroy();
      return { answered, failures };
    },
  };
}

function ask({ host, address = '127.0.0.1', port, path }: TrafficOptions, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: address,
        servername: host,
        port,
        path,
        headers: { host: `${host}:${port}` },
        agent,
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      },
      (response) => {
        response.resume();
        response.once('error', reject);
        response.once('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`status ${response.statusCode}`));
        });
      },
    );
    outgoing.once('error', reject);
    outgoing.end();
  });
}
