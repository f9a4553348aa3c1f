// Drives one agent's connection: turns WebSocket frames into events of the machine and does what the machine decides.
// Whatever goes wrong here ends this connection, with a named error, and no other.
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { create, toBinary } from '@bufbuild/protobuf';
import { GatewayEnvelopeSchema, type Inspection, type LogLines } from '@fairlead/contract/agent';
import { AppError, errorTable, isLinkErrorCode, type LinkErrorCode } from '@fairlead/contract/errors';
import { inspectCapability } from '@fairlead/contract/inspection';
import type { Clock, Log } from '@fairlead/core/kernel';
import type { RawData, WebSocket } from 'ws';
import type { LiveHub } from '../live/hub.ts';
import type { ConnectedServer, Control, OpenedSession } from './control.ts';
import { type SessionAction, type SessionEvent, startSession, step } from './machine.ts';
import { createOpenSession, type OpenSession } from './open-session.ts';
import { readMessage, strangerTotalBytesMax } from './read-message.ts';
import type { Version } from './version.ts';

const goodEnd = 1000;
const closeTimeoutMs = 3_000;

export interface SessionOptions {
  readonly socket: WebSocket;
  /** What the socket reads from. */
  readonly connection: Duplex;
  readonly control: Control;
  readonly hub: LiveHub;
  readonly clock: Clock;
  readonly log: Log;
  /** The agent has proved who it is. */
  readonly onOpen: (session: AgentSession, serverId: string) => void;
  /** An open agent answered a question about logs. */
  readonly onLogLines: (serverId: string, lines: LogLines) => void;
  /** An open agent answered with the plan of a source. */
  readonly onInspection: (serverId: string, inspection: Inspection) => void;
}

export interface AgentSession {
  /** Time passes; called about every second. */
  tick(): void;
  /** Tells the agent of a version, when it is newer than what it was told. */
  announce(version: Version): void;
  /** The next word is the other side's: of the handshake, or of the end. */
  readonly isSilent: boolean;
  /** It told that it can search its logs; false before it is open. */
  readonly answersLogs: boolean;
  /** It told that it can inspect sources; false before it is open. */
  readonly inspects: boolean;
  send(body: Extract<SessionAction, { type: 'send' }>['body']): void;
  /** Hangs up at once, to make room. */
  drop(): void;
  /** Names the error to the agent and closes. */
  end(code: LinkErrorCode): void;
  /** Resolves when the socket is closed and nothing of this session is being stored any more. */
  readonly finished: Promise<void>;
}

export function startAgentSession(options: SessionOptions): AgentSession {
  const { socket, control, hub, clock, log } = options;
  const nowMs = () => clock.now().getTime();
  const finished = Promise.withResolvers<void>();
  let state = startSession(nowMs());
  let open: OpenSession | null = null;
  let strangerBytes = 0;
  let answersLogs = false;
  let inspects = false;

  function handle(event: SessionEvent): void {
    const next = step(state, event, nowMs());
    state = next.state;
    for (const action of next.actions) perform(action);
  }

  function perform(action: SessionAction): void {
    switch (action.type) {
      case 'send':
        send(action.body);
        break;
      case 'enrol':
        attempt(control.enrol(action.request), (answer) => handle({ type: 'enrolled', answer }));
        break;
      case 'find':
        attempt(control.find(action.serverId), (server) =>
          handle({ type: 'found', server, nonce: new Uint8Array(randomBytes(32)) }),
        );
        break;
      case 'open':
        // Before the session is written down: a version that is made meanwhile must find us.
        options.onOpen(session, action.server.serverId);
        answersLogs = action.hello.capabilities.includes('logs');
        inspects = action.hello.capabilities.includes(inspectCapability);
        attempt(control.open(action.server, action.hello), (opened) => welcome(action.server, opened));
        break;
      case 'sync':
        open?.sync();
        break;
      case 'report':
        open?.report(action.report);
        break;
      case 'push':
        open?.push(action.push, action.decodedBytes);
        break;
      case 'log_lines':
        if (open !== null) options.onLogLines(open.server.serverId, action.lines);
        break;
      case 'inspection':
        if (open !== null) options.onInspection(open.server.serverId, action.inspection);
        break;
      case 'measure':
        open?.measure(action.offsetMs);
        break;
      case 'close':
        close(action.code, action.message);
        break;
    }
  }

  function welcome(server: ConnectedServer, opened: OpenedSession): void {
    const current = createOpenSession({
      server,
      ...opened,
      control,
      hub,
      clock,
      log,
      send,
      fail,
      pause: () => socket.pause(),
      resume: () => socket.resume(),
    });
    if (state.phase === 'closed') {
      // The agent hung up while its session was being written down.
      attempt(current.stop(), () => {});
      return;
    }
    open = current;
    options.connection.off('data', countBytes);
    handle({ type: 'opened', session: opened });
  }

  function send(body: Extract<SessionAction, { type: 'send' }>['body']): void {
    // What is sent while the socket closes is lost by design: the agent asks again on its next connection.
    if (socket.readyState !== socket.OPEN) return;
    socket.send(toBinary(GatewayEnvelopeSchema, create(GatewayEnvelopeSchema, { body })));
  }

  function attempt<T>(work: Promise<T>, then: (value: T) => void): void {
    work.then(then).catch(fail);
  }

  function fail(error: unknown): void {
    if (error instanceof AppError && isLinkErrorCode(error.code)) {
      handle({ type: 'failed', code: error.code });
      return;
    }
    log.error({ err: error, serverId: open?.server.serverId }, 'a session failed');
    handle({ type: 'failed', code: 'link.internal' });
  }

  function close(code: LinkErrorCode | null, message?: string): void {
    if (code === null) {
      hangUp(goodEnd);
      return;
    }
    const entry = errorTable[code];
    send({ case: 'error', value: { code, message: message ?? entry.message, retryable: entry.retryable } });
    log.info({ code, serverId: open?.server.serverId }, 'closing a session');
    hangUp(entry.link ?? goodEnd, code);
  }

  function hangUp(closeCode: number, reason?: string): void {
    // A paused socket would never read the other side's closing frame, and some agents never send one.
    socket.resume();
    socket.close(closeCode, reason);
    const terminate = setTimeout(() => socket.terminate(), closeTimeoutMs);
    socket.once('close', () => clearTimeout(terminate));
  }

  function drop(): void {
    handle({ type: 'disconnected' });
    socket.terminate();
  }

  /** A message is read when it is whole; what comes before the handshake is over must not pile up until then. */
  function countBytes(bytes: Buffer): void {
    strangerBytes += bytes.length;
    if (strangerBytes > strangerTotalBytesMax) drop();
  }

  function receive(data: RawData, isBinary: boolean): void {
    const message = readMessage(toBytes(data), isBinary, state.phase === 'open');
    handle('refused' in message ? { type: 'failed', code: message.refused } : { type: 'received', ...message });
  }

  options.connection.on('data', countBytes);
  socket.on('message', receive);
  socket.on('error', (error) => log.info({ err: error, serverId: open?.server.serverId }, 'a connection broke'));
  socket.once('close', () => {
    handle({ type: 'disconnected' });
    const stopped = open === null ? Promise.resolve() : open.stop();
    stopped
      .catch((error: unknown) =>
        log.error({ err: error, serverId: open?.server.serverId }, 'a session did not end well'),
      )
      .finally(finished.resolve);
  });

  const session: AgentSession = {
    tick: () => {
      // While we make the agent wait, its silence is our doing.
      if (!socket.isPaused) handle({ type: 'tick' });
    },
    announce: (version) => handle({ type: 'desired', version }),
    get isSilent() {
      return state.phase === 'waiting' || state.phase === 'proving' || state.phase === 'closed';
    },
    get answersLogs() {
      return answersLogs && state.phase === 'open';
    },
    get inspects() {
      // One that just ended is still able to: whoever asks it is told that it is away, not that it can't.
      return inspects && (state.phase === 'open' || state.phase === 'closed');
    },
    send,
    drop,
    end: (code) => handle({ type: 'failed', code }),
    finished: finished.promise,
  };
  return session;
}

function toBytes(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}
