// Gates that pause apps and builds under test until the test opens them. They listen on a Unix socket, which an app can
// reach from its own network.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../../../tools/lib/wait.ts';

export interface Gates {
  /** Returns the argument for `pass` in `PASS`. */
  address(name: string): string;
  open(name: string): void;
  /** Closes the gate and forgets earlier arrivals: later ones wait. */
  shut(name: string): void;
  /** Resolves when the gate had `times` arrivals. */
  arrived(name: string, times?: number): Promise<void>;
  /** Returns the process of the last arrival, if its query names one. */
  lastAt(name: string): number | undefined;
  /** Waits at a gate in this process. */
  pass(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Apps of root have a /tmp of their own, but share /run. */
const FOLDER = join(process.getuid?.() === 0 ? '/run' : tmpdir(), 'fairlead-gates-');

/**
 * Source of a function for programs under test: it resolves when the gate is open. `query` is appended after a question
 * mark.
 */
export const PASS = [
  "import { request as askGate } from 'node:http';",
  'const pass = (gate, query = "") => new Promise((resolve, reject) => {',
  '  const [socketPath, path] = gate.split("#");',
  '  askGate({ socketPath, path: path + query }, (answer) => answer.resume().once("end", resolve)).once("error", reject).end();',
  '});',
].join('\n');

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
  const folder = mkdtempSync(FOLDER);
  const socket = join(folder, 's');
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  chmodSync(folder, 0o711);
  chmodSync(socket, 0o666);
  return {
    address: (name) => `${socket}#/${name}`,
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
        server.close(() => {
          rmSync(folder, { recursive: true });
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
