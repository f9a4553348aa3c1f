// Fixtures that the control plane and the agent both read: each side reads the other's messages and writes them back
// unchanged. `messages/<Type>.<case>.json` is proto JSON, `.bin` beside it the bytes. UPDATE_FIXTURES=1 writes the
// derived files.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type DescMessage, fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { AgentEnvelopeSchema, DesiredStateSchema, GatewayEnvelopeSchema } from './gen/fairlead/agent/v1/agent_pb.ts';
import { bucketIndex, bucketLowerUs, bucketUpperUs, encodeHistogram, type Histogram, quantileUs } from './histogram.ts';
import {
  enrolMessage,
  helloMessage,
  privateKeyFromSeed,
  publicKeyBytes,
  sealingMessage,
  signMessage,
  stateMessage,
  verifyMessage,
} from './signing.ts';

const folder = new URL('../fixtures/', import.meta.url);
const updating = process.env.UPDATE_FIXTURES === '1';
const types: Readonly<Record<string, DescMessage>> = {
  AgentEnvelope: AgentEnvelopeSchema,
  GatewayEnvelope: GatewayEnvelopeSchema,
  DesiredState: DesiredStateSchema,
};

function fixtureBytes(path: string, derived: Uint8Array): Uint8Array {
  const url = new URL(path, folder);
  if (updating) writeFileSync(url, derived);
  return new Uint8Array(readFileSync(url));
}

function fixtureJson(path: string, derived: JsonValue): unknown {
  return JSON.parse(Buffer.from(fixtureBytes(path, Buffer.from(`${JSON.stringify(derived, null, 2)}\n`))).toString());
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const cases = readdirSync(new URL('messages/', folder)).filter((name) => name.endsWith('.json'));

test.each(cases)('%s reads and writes the same in JSON and in bytes', (name) => {
  const schema = types[name.slice(0, name.indexOf('.'))];
  if (schema === undefined) throw new Error(`no message type for ${name}`);
  const json: JsonValue = JSON.parse(readFileSync(new URL(`messages/${name}`, folder), 'utf8'));
  const encoded = toBinary(schema, fromJson(schema, json));
  const bytes = fixtureBytes(`messages/${name.replace(/\.json$/, '.bin')}`, encoded);

  expect(hex(encoded)).toBe(hex(bytes));
  expect(hex(toBinary(schema, fromBinary(schema, bytes)))).toBe(hex(bytes));
  expect(toJson(schema, fromBinary(schema, bytes))).toEqual(json);
});

test('every kind of envelope has a fixture', () => {
  for (const [type, schema] of [
    ['AgentEnvelope', AgentEnvelopeSchema],
    ['GatewayEnvelope', GatewayEnvelopeSchema],
  ] as const) {
    for (const field of schema.fields) {
      expect(
        cases.some((name) => name.startsWith(`${type}.${field.name}`)),
        `${type}.${field.name}`,
      ).toBe(true);
    }
  }
});

test('bytes that are no message are refused', () => {
  const malformed = fixtureJson('malformed.json', {
    AgentEnvelope: {
      'a length past the end': '0aff01',
      'a field number of zero': '0001',
      'an unfinished varint': '12808080',
      'a wire type that does not exist': '0f',
      'text instead of bytes': hex(Buffer.from('{"hello":{}}')),
      'a body cut in the middle': '12050801120a73',
    },
  }) as { AgentEnvelope: Record<string, string> };
  for (const [what, bytes] of Object.entries(malformed.AgentEnvelope)) {
    expect(() => fromBinary(AgentEnvelopeSchema, Buffer.from(bytes, 'hex')), what).toThrow();
  }
});

test('latencies fall into the same buckets and give the same quantiles', () => {
  const edges = [0, 1, 31, 32, 33, 47, 48, 63, 64, 65, 1000, 1023, 1024, 65_535, 1_000_000, 3_600_000_000, 2 ** 36 - 1];
  const values = Array.from({ length: 2000 }, (_, i) => (i * i * 37) % 2_500_003);
  const counts = new Map<number, number>();
  for (const us of values) counts.set(bucketIndex(us), (counts.get(bucketIndex(us)) ?? 0) + 1);
  const histogram: Histogram = { counts, sumUs: values.reduce((sum, us) => sum + us, 0) };
  const derived = {
    buckets: [...edges, 2 ** 40].map((us) => {
      const index = bucketIndex(us);
      return { us, index, lowerUs: bucketLowerUs(index), upperUs: bucketUpperUs(index) };
    }),
    recorded: {
      // values[i] = i * i * 37 mod 2500003, for i from 0 to 1999.
      values,
      encodedHex: hex(encodeHistogram(histogram)),
      quantiles: [0, 0.5, 0.9, 0.95, 0.99, 0.999, 1].map((q) => ({ q, us: quantileUs(histogram, q) })),
    },
  };
  expect(derived).toEqual(fixtureJson('histogram.json', derived));
});

test('signatures are over the exact bytes, with a label for their purpose', () => {
  const key = privateKeyFromSeed(new Uint8Array(32).fill(7));
  const publicKey = publicKeyBytes(key);
  const token = 'token-of-an-enrolment';
  const serverId = 'srv_0fixtureServer00001';
  const nonce = new Uint8Array(32).fill(9);
  const state = readFileSync(new URL('messages/DesiredState.full.bin', folder));
  const recipient = 'age1q73he0q5yzfu3d64msd3p6rvksnrwjk3d2598mgtmlqt9wrdr37q2vrn72';
  const derived = {
    seedHex: hex(new Uint8Array(32).fill(7)),
    publicKeyHex: hex(publicKey),
    enrol: { token, signatureHex: hex(signMessage(key, enrolMessage(token, publicKey))) },
    hello: { serverId, nonceHex: hex(nonce), signatureHex: hex(signMessage(key, helloMessage(serverId, nonce))) },
    sealing: { recipient, signatureHex: hex(signMessage(key, sealingMessage(recipient))) },
    state: { file: 'messages/DesiredState.full.bin', signatureHex: hex(signMessage(key, stateMessage(state))) },
  };
  expect(derived).toEqual(fixtureJson('signing.json', derived));

  const signature = Buffer.from(derived.state.signatureHex, 'hex');
  expect(verifyMessage(publicKey, stateMessage(state), signature)).toBe(true);
  expect(verifyMessage(publicKey, state, signature)).toBe(false);
  expect(verifyMessage(publicKey, helloMessage(serverId, state), signature)).toBe(false);
  expect(verifyMessage(publicKey.subarray(1), stateMessage(state), signature)).toBe(false);
  expect(verifyMessage(publicKey, stateMessage(state), signature.subarray(1))).toBe(false);
});
