// Drives one agent's connection: turns WebSocket frames into events of the state machine and executes its actions. Any
// error ends this connection with a named error, and no other connection.
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { create, toBinary } from '@bufbuild/protobuf';
import { GatewayEnvelopeSchema, type Inspection, type LogLines } from '@fairlead/contract/agent';
import { supports } from '@fairlead/contract/capabilities';
import { AppError, errorTable, isLinkErrorCode, type LinkErrorCode } from '@fairlead/contract/errors';
import type { Clock, Log } from '@fairlead/core/kernel';
import type { RawData, WebSocket } from 'ws';
import type { LiveHub } from '../live/hub.ts';
import type { ConnectedServer, Control, OpenedSession } from './control.ts';
import { type SessionAction, type SessionEvent, startSession, step } from './machine.ts';
import { createOpenSession, type OpenSession } from './open-session.ts';
import { handshakeTotalBytesMax, readMessage } from './read-message.ts';
import type { Version } from './version.ts';

const goodEnd = 1000;
const closeTimeoutMs = 3_000;

export interface SessionOptions {
  readonly socket: WebSocket;
  /** Socket below the WebSocket. */
  readonly connection: Duplex;
  /** Address of the agent, for the audit log; null if unknown. It proves nothing. */
  readonly ip: string | null;
  readonly control: Control;
  readonly hub: LiveHub;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs once the agent has proved its identity. */
  readonly onOpen: (session: AgentSession, serverId: string) => void;
  /** Runs when an open agent answered a log query. */
  readonly onLogLines: (serverId: string, lines: LogLines) => void;
  /** Runs when an open agent answered with a build plan. */
  readonly onInspection: (serverId: string, inspection: Inspection) => void;
}

export interface AgentSession {
  /** Advances the session's timers; called about every second. */
  tick(): void;
  /** Announces the version to the agent if it is newer than the last one announced. */
  announce(version: Version): void;
  /** True while this side waits for the other's next message: of the handshake, or of the close. */
  readonly isSilent: boolean;
  /** True if the agent can search its logs; false before the session is open. */
  readonly answersLogs: boolean;
  /** True if the agent can inspect sources; false before the session is open. */
  readonly inspects: boolean;
  send(body: Extract<SessionAction, { type: 'send' }>['body']): void;
  /** Closes the connection at once, to make room. */
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
  let handshakeBytes = 0;
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
        attempt(control.enrol(action.request, options.ip), (answer) => handle({ type: 'enrolled', answer }));
        break;
      case 'find':
        attempt(control.find(action.serverId), (server) =>
          handle({ type: 'found', server, nonce: new Uint8Array(randomBytes(32)) }),
        );
        break;
      case 'open':
        // Register before the session is stored, so that a version created meanwhile reaches this session.
        options.onOpen(session, action.server.serverId);
        answersLogs = supports(action.hello.capabilities, 'logs');
        inspects = supports(action.hello.capabilities, 'inspect');
        attempt(control.open(action.server, action.hello, options.ip), (opened) => welcome(action.server, opened));
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
        open?.measure(action.clock);
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
      // The agent disconnected while its session was being stored.
      attempt(current.stop(), () => {});
      return;
    }
    open = current;
    options.connection.off('data', countBytes);
    handle({ type: 'opened', session: opened });
  }

  function send(body: Extract<SessionAction, { type: 'send' }>['body']): void {
    // Messages sent while the socket closes are lost by design: the agent asks again on its next connection.
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
      closeSocket(goodEnd);
      return;
    }
    const entry = errorTable[code];
    send({ case: 'error', value: { code, message: message ?? entry.message, retryable: entry.retryable } });
    log.info({ code, serverId: open?.server.serverId }, 'closing a session');
    closeSocket(entry.link ?? goodEnd, code);
  }

  function closeSocket(closeCode: number, reason?: string): void {
    // A paused socket would never read the other side's close frame, and some agents never send one.
    socket.resume();
    socket.close(closeCode, reason);
    const terminate = setTimeout(() => socket.terminate(), closeTimeoutMs);
    socket.once('close', () => clearTimeout(terminate));
  }

  function drop(): void {
    handle({ type: 'disconnected' });
    socket.terminate();
  }

  /** Limits the bytes of the handshake before a message is complete, so that partial messages never pile up. */
  function countBytes(bytes: Buffer): void {
    handshakeBytes += bytes.length;
    if (handshakeBytes > handshakeTotalBytesMax) drop();
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
      // A paused socket is our doing: do not count its silence against the agent.
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
      // A session that just ended still reports the capability, so that callers see "away" and not "unable".
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
