// Tests for the root of a server's local authority: only one certificate of an authority is stored and shown.
import { create } from '@bufbuild/protobuf';
import { HostInfoSchema } from '@fairlead/contract/agent';
import { expect, test } from 'vitest';
import { makeChain } from '../testing/index.ts';
import { hostInfoOf, readLocalCa } from './agent-host.ts';

const { rootPem, leafPem, keyPem } = makeChain({ names: ['a.localhost'] });
const stored = (localCaPem: string) => hostInfoOf(create(HostInfoSchema, { localCaPem })).localCaPem;

test('a root is stored, and read with its fingerprint', () => {
  expect(stored(rootPem)).toBe(rootPem);
  expect(readLocalCa(rootPem)).toMatchObject({
    pem: rootPem,
    fingerprint: expect.stringMatching(/^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/),
  });
});

test.each([
  ['nothing', ''],
  ['a leaf', leafPem],
  ['two certificates', `${rootPem}${rootPem}`],
  ['a key too', `${rootPem}${keyPem}`],
  ['text before it', `<script>${rootPem}`],
  ['a broken one', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'],
  ['a very long one', rootPem + '\n'.repeat(9000)],
])('%s is not stored', (_, pem) => expect(stored(pem)).toBeUndefined());

test('an agent without a root shows none', () => expect(readLocalCa('')).toBeNull());
