import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { AgentEnvelopeSchema } from '@fairlead/contract/agent';
import { expect, test } from 'vitest';
import { decodedSize } from './decoded-size.ts';
import { handshakeBytesMax, messageBytesMax, type Read, readMessage } from './read-message.ts';

type Body = NonNullable<MessageInitShape<typeof AgentEnvelopeSchema>['body']>;
const tooLarge = { refused: 'link.too_large' };
const malformed = { refused: 'link.malformed' };

function encode(body: Body): Uint8Array {
  return toBinary(AgentEnvelopeSchema, create(AgentEnvelopeSchema, { body }));
}

function log(lines: { text: string; step?: string }[]): Uint8Array {
  return encode({
    case: 'push',
    value: { sequence: 1n, body: { case: 'log', value: { deploymentId: 'dep_1', lines } } },
  });
}

const read = (bytes: Uint8Array): Read => readMessage(bytes, true, true);

test('the largest chunk that the agent makes is read', () => {
  const lines = Array.from({ length: 8_193 }, () => ({ text: '', step: 'build', unixMs: 1_800_000_000_000n }));
  expect(read(log(lines))).toMatchObject({ envelope: { body: { case: 'push' } } });
  const texts = Array.from({ length: 65 }, () => ({ text: 'x'.repeat(4096), step: 'build' }));
  expect(read(log(texts))).toMatchObject({ decodedBytes: expect.any(Number) });
});

test('a message that would grow large in memory is refused before it is decoded', () => {
  const empty = log(Array.from({ length: 200_000 }, () => ({ text: '' })));
  expect(empty.length).toBeLessThan(messageBytesMax);
  expect(read(empty)).toEqual(tooLarge);
  const count = Array.from({ length: 600_000 }, () => 1n);
  const app = { appId: 'app_1', latency: { index: [], count } };
  const frame = encode({ case: 'push', value: { body: { case: 'frame', value: { apps: [app] } } } });
  expect(frame.length).toBeLessThan(messageBytesMax);
  expect(read(frame)).toEqual(tooLarge);
  // The decoder keeps unknown fields, each as an object.
  expect(read(new Uint8Array(messageBytesMax).map((_, at) => (at % 2 === 0 ? 0x78 : 0x01)))).toEqual(tooLarge);
});

test('lists and logs beyond what an agent makes are refused', () => {
  expect(read(log(Array.from({ length: 10_001 }, () => ({ text: '' }))))).toEqual(tooLarge);
  expect(read(log([{ text: 'x'.repeat(600_000) }]))).toEqual(tooLarge);
  const instances = Array.from({ length: 5_001 }, () => ({ instanceId: 'ins_1' }));
  expect(read(encode({ case: 'report', value: { instances } }))).toEqual(tooLarge);
  const apps = Array.from({ length: 5_001 }, () => ({ appId: 'app_1' }));
  expect(read(encode({ case: 'push', value: { body: { case: 'frame', value: { apps } } } }))).toEqual(tooLarge);
});

test('unauthenticated connections have a lower size limit', () => {
  const hello = (agentVersion: string) => encode({ case: 'hello', value: { protocolVersion: 1, agentVersion } });
  expect(readMessage(hello('0.1.0'), true, false)).toMatchObject({ envelope: { body: { case: 'hello' } } });
  expect(readMessage(hello('x'.repeat(handshakeBytesMax)), true, false)).toEqual(tooLarge);
  expect(readMessage(hello('x'.repeat(handshakeBytesMax)), true, true)).toMatchObject({ envelope: {} });
});

test('bytes that are no message are malformed, whatever length they claim', () => {
  for (const bytes of [
    [0x0a, 0xff, 0x01],
    [0x32, 0x05, 0x12, 0x7f, 0, 0, 0],
    [0x0f],
    [0x32, 0xff, 0xff, 0xff, 0xff, 0x0f],
  ])
    expect(read(new Uint8Array(bytes)), JSON.stringify(bytes)).toEqual(malformed);
  expect(readMessage(encode({ case: 'sync', value: {} }), false, true)).toEqual(malformed);
});

test('the size counts what is in the lists of a message and stops when it is too much', () => {
  const bytes = log([{ text: 'abc' }, { text: 'def' }]);
  const size = decodedSize(AgentEnvelopeSchema, bytes, 1_000_000);
  expect(decodedSize(AgentEnvelopeSchema, log([{ text: 'abc' }]), 1_000_000)).toBeLessThan(size);
  expect(decodedSize(AgentEnvelopeSchema, bytes, 200)).toBeLessThan(size);
});
