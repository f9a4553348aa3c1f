// Steady load over TLS through a server's proxy: HTTP/1.1 on reused and new connections, slow requests, HTTP/2, and
// WebSockets. Owns the definition of a failed request; retries only what HTTP/2 reports as unprocessed.
import { readFileSync } from 'node:fs';
import { connect as connectHttp2, constants } from 'node:http2';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { WebSocket } from 'ws';
import { waitFor } from '../../../tools/lib/wait.ts';

type Kind = 'kept' | 'fresh' | 'slow' | 'http2' | 'websocket';

export interface LoadFailure {
  readonly kind: Kind;
  readonly reason: string;
  readonly startedAt: number;
  /** Start of the request's connection; the request's own start if it never got one. */
  readonly connectedAt: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly failures: readonly LoadFailure[];
  /** WebSockets that their server closed with 1001 or 1012, as it should before it exits. */
  readonly sentAway: number;
}

export interface LoadTarget {
  readonly host: string;
  readonly address?: string;
  readonly port: number;
  readonly caFile: string;
}

export interface Load {
  /** Resolves once every kind had `count` more responses. */
  more(count: number): Promise<void>;
  /** Opens WebSockets that stay until their server closes them, and then reopens them. */
  hold(sockets: number): void;
  /** Returns the result so far. */
  result(): LoadResult;
  stop(): Promise<LoadResult>;
}

const LANES: readonly Kind[] = ['kept', 'kept', 'kept', 'fresh', 'slow', 'slow', 'http2', 'http2', 'websocket'];
/** Leaves most of a core to what is tested. */
const PAUSE_MS = 30;
const REQUEST_TIMEOUT_MS = 20_000;
/** Number of echoes after which a WebSocket of the steady load closes itself. */
const ECHOES = 25;
const SENT_AWAY: readonly number[] = [1001, 1012];

export function startLoad(target: LoadTarget): Load {
  const ca = readFileSync(target.caFile);
  const address = target.address ?? '127.0.0.1';
  const failures: LoadFailure[] = [];
  const answered: Record<Kind, number> = { kept: 0, fresh: 0, slow: 0, http2: 0, websocket: 0 };
  const stopped = new AbortController();
  const held = new Set<{ release(): void; readonly done: Promise<void> }>();
  let sentAway = 0;

  /** Sends one request after the other; each `ask` reports the start of its connection. */
  async function lane(kind: Kind, lane: Lane): Promise<void> {
    while (!stopped.signal.aborted) {
      const startedAt = performance.now();
      const connection = { begunAt: startedAt };
      try {
        await lane.ask(connection);
        answered[kind]++;
      } catch (error) {
        failures.push({ kind, reason: reasonOf(error), startedAt, connectedAt: connection.begunAt });
      }
      await delay(PAUSE_MS);
    }
    lane.close();
  }

  const http1 = (path: string, keepAlive: boolean): Lane => {
    const agent = new Agent({ keepAlive, maxSockets: 1, ca });
    const begun = new WeakMap<object, number>();
    return {
      ask: (connection) =>
        new Promise((resolve, reject) => {
          const outgoing = request(
            {
              host: address,
              servername: target.host,
              port: target.port,
              path,
              headers: { host: `${target.host}:${target.port}` },
              agent,
              signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
            },
            (response) => {
              response.resume();
              response.once('error', reject);
              response.once('end', () => settle(response.statusCode, resolve, reject));
            },
          );
          outgoing.once('socket', (socket) => {
            if (!begun.has(socket)) begun.set(socket, performance.now());
            connection.begunAt = begun.get(socket) ?? connection.begunAt;
          });
          outgoing.once('error', reject);
          outgoing.end();
        }),
      close: () => agent.destroy(),
    };
  };

  const http2 = (): Lane => {
    const open = () => ({
      begunAt: performance.now(),
      session: connectHttp2(`https://${target.host}:${target.port}`, {
        createConnection: () =>
          connectTls({ host: address, port: target.port, servername: target.host, ca, ALPNProtocols: ['h2'] }),
      }),
    });
    let current: ReturnType<typeof open> | undefined;
    const ask = (connection: { begunAt: number }, isFirst = true): Promise<void> =>
      new Promise((resolve, reject) => {
        if (current === undefined || current.session.closed || current.session.destroyed) {
          current = open();
          // Streams report the session's failures.
          current.session.on('error', () => undefined);
        }
        connection.begunAt = current.begunAt;
        const { session } = current;
        session.once('error', reject);
        const stream = session.request({ ':path': '/', ':authority': `${target.host}:${target.port}` });
        let status: number | undefined;
        let isWhole = false;
        stream.setTimeout(REQUEST_TIMEOUT_MS, () => stream.destroy(new Error('no answer in time')));
        stream.once('response', (headers) => {
          status = headers[':status'];
        });
        stream.once('end', () => {
          isWhole = true;
        });
        // A GOAWAY that is read before the request is written makes Node refuse the unsent request. A second refusal
        // counts, because then the proxy accepts nothing.
        const isRefused = () => status === undefined && stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
        const isUnsent = () => isFirst && session.closed && isRefused();
        stream.once('error', (error) => {
          if (!isUnsent()) reject(error);
        });
        stream.once('close', () => {
          session.off('error', reject);
          if (isUnsent()) resolve(ask(connection, false));
          else if (isWhole) settle(status, resolve, reject);
          else reject(new Error(`the stream was closed with ${stream.rstCode}`));
        });
        stream.resume();
        stream.end();
      });
    return { ask: (connection) => ask(connection), close: () => current?.session.close() };
  };

  /** Runs an echo WebSocket that closes after `echoes` echoes; endless ones close only at the end. */
  async function converse(echoes: number, leaving: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    const fail = (reason: string, saidAt: number) =>
      failures.push({ kind: 'websocket', reason, startedAt: saidAt, connectedAt: startedAt });
    const socket = new WebSocket(`wss://${address}:${target.port}/echo`, {
      createConnection: () => connectTls({ host: address, port: target.port, servername: target.host, ca }),
      headers: { host: `${target.host}:${target.port}` },
      handshakeTimeout: REQUEST_TIMEOUT_MS,
    });
    let problem: string | undefined;
    socket.once('error', (error) => {
      problem = reasonOf(error);
    });
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    let heard: (text: string) => void = () => undefined;
    socket.on('message', (data: Buffer) => heard(data.toString('utf8')));
    const isOpen = await Promise.race([
      new Promise<boolean>((resolve) => socket.once('open', () => resolve(true))),
      closed.then(() => false),
    ]);
    if (!isOpen) return void fail(problem ?? 'closed before it was open', startedAt);
    for (let said = 0; said < echoes && !leaving.aborted; said++) {
      const saidAt = performance.now();
      const text = `echo ${said}`;
      const echoed = new Promise<string>((resolve) => {
        heard = resolve;
      });
      socket.send(text);
      const answer = await Promise.race([echoed, closed, delay(REQUEST_TIMEOUT_MS, 'nothing in time', { ref: false })]);
      if (typeof answer === 'number') {
        if (SENT_AWAY.includes(answer)) sentAway++;
        else fail(`closed with ${answer}${problem === undefined ? '' : `: ${problem}`}`, saidAt);
        return;
      }
      if (answer !== text) {
        fail(`heard ${JSON.stringify(answer)}`, saidAt);
        break;
      }
      answered.websocket++;
      await delay(PAUSE_MS);
    }
    socket.close(1000);
    await closed;
  }

  async function websocketLane(): Promise<void> {
    while (!stopped.signal.aborted) {
      await converse(ECHOES, stopped.signal);
      await delay(PAUSE_MS);
    }
  }

  const start: Record<Kind, () => Promise<void>> = {
    kept: () => lane('kept', http1('/', true)),
    fresh: () => lane('fresh', http1('/', false)),
    slow: () => lane('slow', http1('/slow', true)),
    http2: () => lane('http2', http2()),
    websocket: websocketLane,
  };
  const lanes = LANES.map((kind) => start[kind]());
  const result = (): LoadResult => ({
    requests: Object.values(answered).reduce((sum, count) => sum + count, 0) + failures.length,
    failures: [...failures],
    sentAway,
  });
  return {
    result,
    async more(count) {
      const goals = Object.entries(answered).map(([kind, now]) => ({ kind: kind as Kind, goal: now + count }));
      await waitFor(() => goals.every(({ kind, goal }) => answered[kind] >= goal), {
        what: `${count} more answers of each kind (${JSON.stringify(failures.slice(-3))})`,
        timeoutMs: 60_000,
      });
    },
    hold(sockets) {
      while (held.size < sockets) {
        const leaving = new AbortController();
        const stay = async () => {
          while (!leaving.signal.aborted) {
            await converse(Number.POSITIVE_INFINITY, leaving.signal);
            await delay(PAUSE_MS);
          }
        };
        held.add({ release: () => leaving.abort(), done: stay() });
      }
      for (const each of [...held].slice(sockets)) {
        each.release();
        held.delete(each);
        lanes.push(each.done);
      }
    },
    async stop() {
      this.hold(0);
      stopped.abort();
      await Promise.all(lanes);
      return result();
    },
  };
}

interface Lane {
  /** Rejects when the request failed; reports the start of its connection. */
  ask(connection: { begunAt: number }): Promise<void>;
  close(): void;
}

function settle(status: number | undefined, resolve: () => void, reject: (error: Error) => void): void {
  if (status === 200) resolve();
  else reject(new Error(`status ${status}`));
}

function reasonOf(error: unknown): string {
  return error instanceof Error
    ? `${(error as NodeJS.ErrnoException).code ?? error.name}: ${error.message}`
    : String(error);
}
