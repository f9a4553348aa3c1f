// State machine of one agent's connection: which message may come when, and what follows. Pure: events carry the time
// and the nonce, and effects come out as actions.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  AgentEnvelope,
  Enrol,
  GatewayEnvelopeSchema,
  Hello,
  Inspection,
  LogLines,
  Push,
  Report,
  SealingKey,
} from '@fairlead/contract/agent';
import type { LinkErrorCode } from '@fairlead/contract/errors';
import { enrolMessage, helloMessage, sealingMessage, verifyMessage } from '@fairlead/contract/signing';
import { type ClockEstimate, type ClockSample, estimateClock, withSample } from './clock-estimate.ts';
import type { ConnectedServer, EnrolledServer, OpenedSession } from './control.ts';
import { isNewer, noVersion, type Version } from './version.ts';

const protocolVersion = 1;
/** Timeout of each handshake step in milliseconds, from the connection on. */
export const handshakeStepMs = 10_000;
export const pingIntervalMs = 20_000;
/** Number of pings in a burst. The shortest round trip measures the agent's clock. */
export const pingBurst = 4;
/** Idle timeout of an agent: two unanswered pings and a grace period for the second. */
export const silenceMaxMs = 50_000;

export type SessionState =
  | { readonly phase: 'waiting'; readonly deadlineMs: number }
  | { readonly phase: 'enrolling' }
  | { readonly phase: 'finding'; readonly hello: Hello }
  | {
      readonly phase: 'proving';
      readonly hello: Hello;
      readonly server: ConnectedServer;
      readonly nonce: Uint8Array;
      readonly deadlineMs: number;
    }
  /** `noticed`: a version that was announced while the session was being stored. */
  | { readonly phase: 'opening'; readonly noticed: Version }
  | {
      readonly phase: 'open';
      readonly announced: Version;
      readonly nextPingMs: number;
      readonly lastHeardMs: number;
      /** Number of pings of the current burst that are still to be sent. */
      readonly pingsLeft: number;
      readonly clock: readonly ClockSample[];
    }
  | { readonly phase: 'closed' };

export type SessionEvent =
  /** `decodedBytes`: the memory that the decoded message takes. */
  | { readonly type: 'received'; readonly envelope: AgentEnvelope; readonly decodedBytes: number }
  | { readonly type: 'enrolled'; readonly answer: EnrolledServer }
  | { readonly type: 'found'; readonly server: ConnectedServer | null; readonly nonce: Uint8Array }
  | { readonly type: 'opened'; readonly session: OpenedSession }
  | { readonly type: 'desired'; readonly version: Version }
  | { readonly type: 'failed'; readonly code: LinkErrorCode; readonly message?: string }
  | { readonly type: 'tick' }
  | { readonly type: 'disconnected' };

type Body = NonNullable<MessageInitShape<typeof GatewayEnvelopeSchema>['body']>;

export type SessionAction =
  | { readonly type: 'send'; readonly body: Body }
  | { readonly type: 'enrol'; readonly request: Enrol }
  | { readonly type: 'find'; readonly serverId: string }
  | { readonly type: 'open'; readonly server: ConnectedServer; readonly hello: Hello }
  | { readonly type: 'sync' }
  | { readonly type: 'report'; readonly report: Report }
  | { readonly type: 'push'; readonly push: Push; readonly decodedBytes: number }
  | { readonly type: 'log_lines'; readonly lines: LogLines }
  | { readonly type: 'inspection'; readonly inspection: Inspection }
  | { readonly type: 'measure'; readonly clock: ClockEstimate }
  /** Names the error to the agent, then closes. Null means a regular close. */
  | { readonly type: 'close'; readonly code: LinkErrorCode | null; readonly message?: string };

export interface Step {
  readonly state: SessionState;
  readonly actions: readonly SessionAction[];
}

export function startSession(nowMs: number): SessionState {
  return { phase: 'waiting', deadlineMs: nowMs + handshakeStepMs };
}

export function step(state: SessionState, event: SessionEvent, nowMs: number): Step {
  if (state.phase === 'closed') return stay(state);
  switch (event.type) {
    case 'disconnected':
      return { state: { phase: 'closed' }, actions: [] };
    case 'failed':
      return end(event.code, event.message);
    case 'received':
      return receive(state, event, nowMs);
    case 'tick':
      return tick(state, nowMs);
    case 'enrolled':
      if (state.phase !== 'enrolling') return stay(state);
      return {
        state: { phase: 'closed' },
        actions: [
          { type: 'send', body: { case: 'enrolled', value: event.answer } },
          { type: 'close', code: null },
        ],
      };
    case 'found':
      return found(state, event.server, event.nonce, nowMs);
    case 'opened':
      return opened(state, event.session, nowMs);
    case 'desired':
      return desired(state, event.version);
  }
}

type Received = Extract<SessionEvent, { type: 'received' }>;

function receive(state: SessionState, event: Received, nowMs: number): Step {
  const { envelope } = event;
  const { body } = envelope;
  // Ignores a message kind that is newer than this gateway, as the contract requires.
  if (body.case === undefined && envelope.$unknown !== undefined) return stay(recordContact(state, nowMs));
  if (body.case === undefined) return end('link.malformed');
  if (state.phase === 'open') return receiveOpen(state, event, nowMs);
  if (state.phase === 'waiting' && body.case === 'enrol') {
    const { token, publicKey, signature } = body.value;
    if (!verifyMessage(publicKey, enrolMessage(token, publicKey), signature)) return end('link.proof_wrong');
    if (!isVouchedFor(publicKey, body.value.sealing)) return end('link.proof_wrong');
    return { state: { phase: 'enrolling' }, actions: [{ type: 'enrol', request: body.value }] };
  }
  if (state.phase === 'waiting' && body.case === 'hello') {
    if (body.value.protocolVersion !== protocolVersion) return end('link.protocol_unsupported');
    return {
      state: { phase: 'finding', hello: body.value },
      actions: [{ type: 'find', serverId: body.value.serverId }],
    };
  }
  if (state.phase === 'proving' && body.case === 'proof') {
    const { server, hello, nonce } = state;
    if (!verifyMessage(server.publicKey, helloMessage(server.serverId, nonce), body.value.signature)) {
      return end('link.proof_wrong');
    }
    if (!isVouchedFor(server.publicKey, hello.sealing)) return end('link.proof_wrong');
    return { state: { phase: 'opening', noticed: noVersion }, actions: [{ type: 'open', server, hello }] };
  }
  return end('link.unexpected_message');
}

/**
 * True if the agent's own key signed the sealing key; secrets are sealed to no other, and a forged one ends the
 * connection.
 */
function isVouchedFor(publicKey: Uint8Array, sealing: SealingKey | undefined): boolean {
  return sealing === undefined || verifyMessage(publicKey, sealingMessage(sealing.recipient), sealing.signature);
}

function receiveOpen(
  state: Extract<SessionState, { phase: 'open' }>,
  { envelope: { body }, decodedBytes }: Received,
  nowMs: number,
): Step {
  const next = recordContact(state, nowMs);
  switch (body.case) {
    case 'sync':
      return { state: next, actions: [{ type: 'sync' }] };
    case 'report':
      return { state: next, actions: [{ type: 'report', report: body.value }] };
    case 'push':
      return { state: next, actions: [{ type: 'push', push: body.value, decodedBytes }] };
    case 'logLines':
      return { state: next, actions: [{ type: 'log_lines', lines: body.value }] };
    case 'inspection':
      return { state: next, actions: [{ type: 'inspection', inspection: body.value }] };
    case 'pong': {
      const sentMs = Number(body.value.pingSentUnixMs);
      // Reject pongs without a ping: they would falsify the measured clock offset.
      if (sentMs > nowMs || nowMs - sentMs > silenceMaxMs) return end('link.malformed');
      const { agentUnixMs, agentUnixUs } = body.value;
      // An older agent reports whole milliseconds; the middle of one is the best guess.
      const agentUs = agentUnixUs === 0n ? Number(agentUnixMs) * 1000 + 500 : Number(agentUnixUs);
      const clock = withSample(next.clock, { sentMs, receivedMs: nowMs, agentUs });
      if (next.pingsLeft > 0) {
        return { state: { ...next, clock, pingsLeft: next.pingsLeft - 1 }, actions: [ping(nowMs)] };
      }
      const estimate = estimateClock(clock, nowMs);
      return {
        state: { ...next, clock },
        actions: estimate === null ? [] : [{ type: 'measure', clock: estimate }],
      };
    }
    default:
      return end('link.unexpected_message');
  }
}

function found(state: SessionState, server: ConnectedServer | null, nonce: Uint8Array, nowMs: number): Step {
  if (state.phase !== 'finding') return stay(state);
  if (server === null) return end('link.server_unknown');
  return {
    state: { phase: 'proving', hello: state.hello, server, nonce, deadlineMs: nowMs + handshakeStepMs },
    actions: [{ type: 'send', body: { case: 'challenge', value: { nonce } } }],
  };
}

function opened(state: SessionState, session: OpenedSession, nowMs: number): Step {
  if (state.phase !== 'opening') return stay(state);
  const newest = isNewer(state.noticed, session.desired) ? state.noticed : session.desired;
  return {
    state: {
      phase: 'open',
      announced: newest,
      nextPingMs: nowMs + pingIntervalMs,
      lastHeardMs: nowMs,
      pingsLeft: pingBurst - 1,
      clock: [],
    },
    actions: [
      {
        type: 'send',
        body: {
          case: 'welcome',
          value: {
            serverUnixMs: BigInt(nowMs),
            desired: newest,
            pushAckedSequence: session.pushAckedSequence,
            pingIntervalMs,
            transferToken: session.transferToken,
          },
        },
      },
      // The ping goes out at once, so that the first frames are dated with a measured clock offset.
      ping(nowMs),
    ],
  };
}

function desired(state: SessionState, version: Version): Step {
  if (state.phase === 'opening' && isNewer(version, state.noticed)) return stay({ ...state, noticed: version });
  if (state.phase !== 'open' || !isNewer(version, state.announced)) return stay(state);
  return {
    state: { ...state, announced: version },
    actions: [{ type: 'send', body: { case: 'desired', value: { version } } }],
  };
}

function tick(state: SessionState, nowMs: number): Step {
  if (state.phase === 'waiting' || state.phase === 'proving') {
    return nowMs >= state.deadlineMs ? end('link.timeout') : stay(state);
  }
  if (state.phase !== 'open') return stay(state);
  if (nowMs - state.lastHeardMs >= silenceMaxMs) return end('link.timeout');
  if (nowMs < state.nextPingMs) return stay(state);
  return {
    state: { ...state, nextPingMs: nowMs + pingIntervalMs, pingsLeft: pingBurst - 1 },
    actions: [ping(nowMs)],
  };
}

function ping(nowMs: number): SessionAction {
  return { type: 'send', body: { case: 'ping', value: { sentUnixMs: BigInt(nowMs) } } };
}

function recordContact<S extends SessionState>(state: S, nowMs: number): S {
  return state.phase === 'open' ? { ...state, lastHeardMs: nowMs } : state;
}

function stay(state: SessionState): Step {
  return { state, actions: [] };
}

function end(code: LinkErrorCode, message?: string): Step {
  return {
    state: { phase: 'closed' },
    actions: [message === undefined ? { type: 'close', code } : { type: 'close', code, message }],
  };
}
