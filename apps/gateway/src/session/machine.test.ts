import { generateKeyPairSync } from 'node:crypto';
import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { type AgentEnvelope, AgentEnvelopeSchema } from '@fairlead/contract/agent';
import { newId } from '@fairlead/contract/ids';
import { enrolMessage, helloMessage, publicKeyBytes, signMessage } from '@fairlead/contract/signing';
import { expect, test } from 'vitest';
import {
  handshakeStepMs,
  pingBurst,
  pingIntervalMs,
  type SessionAction,
  type SessionEvent,
  type SessionState,
  silenceMaxMs,
  startSession,
  step,
} from './machine.ts';

type Body = NonNullable<MessageInitShape<typeof AgentEnvelopeSchema>['body']>;

const { privateKey } = generateKeyPairSync('ed25519');
const server = {
  serverId: newId('srv'),
  organizationId: newId('org'),
  publicKey: publicKeyBytes(privateKey),
  connection: 'gateway#1',
};
const nonce = new Uint8Array(32).fill(5);
const opened = {
  desired: { epoch: 1, number: 7n },
  pushAckedSequence: 3n,
  clockOffsetMs: 0,
  transferToken: 'transfer',
};

function received(body: Body): SessionEvent {
  return { type: 'received', envelope: create(AgentEnvelopeSchema, { body }), decodedBytes: 1 };
}

const hello = received({ case: 'hello', value: { protocolVersion: 1, serverId: server.serverId } });
const found: SessionEvent = { type: 'found', server, nonce };
const proof = received({
  case: 'proof',
  value: { signature: signMessage(privateKey, helloMessage(server.serverId, nonce)) },
});

/** Feeds events at time 0; returns the last state and the actions of the last event. */
function drive(...events: SessionEvent[]): { state: SessionState; actions: readonly SessionAction[] } {
  let last: { state: SessionState; actions: readonly SessionAction[] } = { state: startSession(0), actions: [] };
  for (const event of events) last = step(last.state, event, 0);
  return last;
}

const openSession = () => drive(hello, found, proof, { type: 'opened', session: opened });

function closedWith(code: string) {
  return { state: { phase: 'closed' }, actions: [{ type: 'close', code }] };
}

test('an agent that proves its key is welcomed with the newest version and pinged at once', () => {
  expect(drive(hello).actions).toEqual([{ type: 'find', serverId: server.serverId }]);
  expect(drive(hello, found).actions).toEqual([{ type: 'send', body: { case: 'challenge', value: { nonce } } }]);
  expect(drive(hello, found, proof).actions).toMatchObject([{ type: 'open', server }]);
  expect(openSession().actions).toMatchObject([
    { body: { case: 'welcome', value: { desired: { epoch: 1, number: 7n }, pushAckedSequence: 3n, pingIntervalMs } } },
    { body: { case: 'ping' } },
  ]);
});

test('a proof of another key, another nonce or another server is refused', () => {
  const other = generateKeyPairSync('ed25519').privateKey;
  for (const signature of [
    signMessage(other, helloMessage(server.serverId, nonce)),
    signMessage(privateKey, helloMessage(server.serverId, new Uint8Array(32))),
    signMessage(privateKey, helloMessage(newId('srv'), nonce)),
    new Uint8Array(),
  ]) {
    expect(drive(hello, found, received({ case: 'proof', value: { signature } }))).toEqual(
      closedWith('link.proof_wrong'),
    );
  }
});

test('an enrolment whose agent does not hold the key it presents never reaches the token', () => {
  const token = 'token';
  const sign = (key: typeof privateKey) => signMessage(key, enrolMessage(token, server.publicKey));
  const enrol = (signature: Uint8Array) =>
    received({ case: 'enrol', value: { token, publicKey: server.publicKey, signature } });
  expect(drive(enrol(sign(privateKey))).actions).toMatchObject([{ type: 'enrol', request: { token } }]);
  expect(drive(enrol(sign(generateKeyPairSync('ed25519').privateKey)))).toEqual(closedWith('link.proof_wrong'));
});

test('only a hello is accepted before the proof, and no second one after it', () => {
  const sync = received({ case: 'sync', value: {} });
  for (const events of [[sync], [hello, sync], [hello, proof], [hello, found, hello], [hello, found, sync]]) {
    expect(drive(...events)).toEqual(closedWith('link.unexpected_message'));
  }
  for (const again of [hello, proof]) {
    expect(step(openSession().state, again, 0)).toEqual(closedWith('link.unexpected_message'));
  }
});

test('an unknown server and an unknown protocol get named errors', () => {
  expect(drive(hello, { type: 'found', server: null, nonce })).toEqual(closedWith('link.server_unknown'));
  const future = received({ case: 'hello', value: { protocolVersion: 2, serverId: server.serverId } });
  expect(drive(future)).toEqual(closedWith('link.protocol_unsupported'));
});

test('an empty envelope is malformed; a message kind newer than this gateway is ignored', () => {
  const empty: AgentEnvelope = create(AgentEnvelopeSchema);
  expect(step(openSession().state, { type: 'received', envelope: empty, decodedBytes: 1 }, 0)).toEqual(
    closedWith('link.malformed'),
  );
  // Field 100, length-delimited, empty.
  const newer = fromBinary(AgentEnvelopeSchema, Uint8Array.of(0xa2, 0x06, 0x00));
  expect(step(openSession().state, { type: 'received', envelope: newer, decodedBytes: 1 }, 0)).toMatchObject({
    state: { phase: 'open' },
    actions: [],
  });
});

test('a version is announced once and only when it is newer', () => {
  let { state } = openSession();
  const announce = (epoch: number, number: bigint) => {
    const next = step(state, { type: 'desired', version: { epoch, number } }, 0);
    state = next.state;
    return next.actions.length;
  };
  expect([
    announce(1, 7n),
    announce(1, 6n),
    announce(1, 8n),
    announce(1, 8n),
    announce(2, 1n),
    announce(1, 9n),
  ]).toEqual([0, 0, 1, 0, 1, 0]);
});

test('a version that arrives while the session is being stored is in the welcome', () => {
  const noticed: SessionEvent = { type: 'desired', version: { epoch: 1, number: 8n } };
  const older: SessionEvent = { type: 'desired', version: { epoch: 1, number: 6n } };
  expect(drive(hello, found, proof, noticed, older, { type: 'opened', session: opened }).actions).toMatchObject([
    { body: { case: 'welcome', value: { desired: { epoch: 1, number: 8n } } } },
    { body: { case: 'ping' } },
  ]);
});

test('a handshake that stalls and an agent that falls silent are ended', () => {
  expect(step(drive().state, { type: 'tick' }, handshakeStepMs - 1).actions).toEqual([]);
  expect(step(drive().state, { type: 'tick' }, handshakeStepMs)).toEqual(closedWith('link.timeout'));
  expect(step(drive(hello, found).state, { type: 'tick' }, handshakeStepMs)).toEqual(closedWith('link.timeout'));

  const { state } = openSession();
  expect(step(state, { type: 'tick' }, pingIntervalMs - 1).actions).toEqual([]);
  expect(step(state, { type: 'tick' }, pingIntervalMs).actions).toMatchObject([{ body: { case: 'ping' } }]);
  expect(step(state, { type: 'tick' }, silenceMaxMs)).toEqual(closedWith('link.timeout'));
  const heard = step(state, received({ case: 'sync', value: {} }), silenceMaxMs - 1).state;
  expect(step(heard, { type: 'tick' }, silenceMaxMs).actions).toMatchObject([{ body: { case: 'ping' } }]);
});

test("a pong measures the agent's clock; a pong without a ping ends the session", () => {
  const { state } = openSession();
  const pong = (pingSentUnixMs: bigint, agentUnixMs: bigint, from: SessionState = state, agentUnixUs = 0n) =>
    step(from, received({ case: 'pong', value: { pingSentUnixMs, agentUnixMs, agentUnixUs } }), 1_000_100);
  // In a burst, each pong but the last triggers the next ping at once.
  let burst = pong(1_000_000n, 1_005_050n);
  for (let at = 1; at < pingBurst - 1; at += 1) {
    expect(burst.actions).toMatchObject([{ body: { case: 'ping' } }]);
    burst = pong(1_000_000n, 1_005_050n, burst.state);
  }
  // The shortest round trip decides, and the microseconds of a newer agent are used.
  expect(pong(1_000_090n, 1_005_095n, burst.state, 1_005_095_250n).actions).toEqual([
    { type: 'measure', clock: { offsetUs: 4_999_750, uncertaintyUs: 5_500 } },
  ]);
  expect(pong(1_000_000n, 1_005_050n, burst.state).actions).toEqual([
    { type: 'measure', clock: { offsetUs: 5_000_000, uncertaintyUs: 50_500 } },
  ]);
  expect(pong(1_000_101n, 1_000_000n)).toEqual(closedWith('link.malformed'));
  expect(pong(0n, 1_000_000n)).toEqual(closedWith('link.malformed'));
});

test('a closed session takes no further action', () => {
  const end = drive(hello, { type: 'disconnected' });
  expect(end).toEqual({ state: { phase: 'closed' }, actions: [] });
  expect(step(end.state, found, 0).actions).toEqual([]);
  expect(step(end.state, { type: 'failed', code: 'link.internal' }, 0).actions).toEqual([]);
});
