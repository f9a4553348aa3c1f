// Gates that apps and builds under test stop at: each asks for its gate by name and is answered once the test opens it. So
// a step of a deployment lasts until the test has done with it, however fast or slow the machine is.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '../../../tools/lib/wait.ts';

export interface Gates {
  /** What an app asks to pass; it is answered when the gate is open. */
  url(name: string): string;
  open(name: string): void;
  /** As if nobody had asked: whoever comes from now on waits. */
  shut(name: string): void;
  /** Resolves when the gate was asked for so often. */
  arrived(name: string, times?: number): Promise<void>;
  /** The process that asked last, if it said which it is: behind a question mark. */
  lastAt(name: string): number | undefined;
  /** Waits at a gate in this process. */
  pass(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Options of an agent whose apps and builds ask at gates, which are ports of the server: own networks would refuse them. */
export const GATES_ARGS = ['--network', 'shared'] as const;

const ARRIVAL_TIMEOUT_MS = 120_000;

export async function openGates(): Promise<Gates> {
  const opened = new Set<string>();
  const asked = new Map<string, number>();
  const askedBy = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();

  function ask(name: string, pass: () => void): void {
    asked.set(name, (asked.get(name) ?? 0) + 1);
    if (opened.has(name)) pass();
    else waiting.set(name, [...(waiting.get(name) ?? []), pass]);
  }
  const server = createServer((request, response: ServerResponse) => {
    const [name = '', pid] = (request.url ?? '/').slice(1).split('?');
    if (pid !== undefined) askedBy.set(name, Number(pid));
    ask(name, () => response.end('pass'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    open(name) {
      opened.add(name);
      for (const pass of waiting.get(name) ?? []) pass();
      waiting.delete(name);
    },
    shut(name) {
      opened.delete(name);
      asked.delete(name);
      askedBy.delete(name);
    },
    arrived: (name, times = 1) =>
      waitFor(() => (asked.get(name) ?? 0) >= times, {
        what: `${times} at the gate ${name}`,
        timeoutMs: ARRIVAL_TIMEOUT_MS,
        everyMs: 1,
      }).then(() => undefined),
    lastAt: (name) => askedBy.get(name),
    pass: (name) => new Promise((resolve) => ask(name, resolve)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
