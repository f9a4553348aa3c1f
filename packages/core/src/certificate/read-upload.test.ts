import { execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { makeChain, type TestChain, type TestChainOptions } from '../testing/index.ts';
import { readUpload } from './read-upload.ts';

const dayMs = 86_400_000;
const now = new Date(Date.now() + 60_000);
const names = ['Shop.example.test', '*.shop.example.test'];
const made = makeChain({ names });
const full = (chain: TestChain) => [chain.leafPem, chain.intermediatePem, chain.rootPem].join('\n');
const read = (chainPem: string, keyPem: string = made.keyPem, at: Date = now) => readUpload({ chainPem, keyPem }, at);
const leafWith = (options: Partial<TestChainOptions>) => {
  const chain = makeChain({ names, ...options });
  return () => readUpload({ chainPem: full(chain), keyPem: chain.keyPem }, now);
};
const code = (name: string) => expect.objectContaining({ code: `certificate.${name}` });

test('a chain with its key is read, and its names are lower-cased', () => {
  const { chain, names: found, notes } = read(full(made));
  expect(chain.map(({ subject }) => subject.slice(subject.indexOf('CN=') + 3))).toEqual([
    'leaf',
    'intermediate',
    'root',
  ]);
  expect(found).toEqual(['shop.example.test', '*.shop.example.test']);
  expect(notes).toEqual([]);
});

test('a shuffled chain is put in order and said to be, and a repeated certificate counts once', () => {
  const { chain, notes } = read([made.rootPem, made.leafPem, made.intermediatePem, made.leafPem].join('\n'));
  expect(chain[0]?.subject).toContain('CN=leaf');
  expect(notes).toEqual(['The certificates were not in order. They are stored with the leaf first.']);
});

test('a chain without its intermediate or root is incomplete', () => {
  expect(() => read(made.leafPem)).toThrow(code('chain_incomplete'));
  expect(() => read(`${made.leafPem}\n${made.intermediatePem}`)).toThrow(code('chain_incomplete'));
});

test('certificates that are not part of the chain are refused, also one with the right name and another key', () => {
  expect(() => read(`${full(made)}\n${rootCertificates[0]}`)).toThrow(code('chain_unrelated'));
  const twin = makeChain({ names });
  expect(() => read([made.leafPem, twin.intermediatePem, twin.rootPem].join('\n'))).toThrow(code('chain_unrelated'));
});

test('the key must belong to the leaf', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  expect(() => read(full(made), privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)).toThrow(
    code('key_mismatch'),
  );
});

test.each([
  ['RSA 2048', ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048']],
  ['P-384', ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384']],
  ['Ed25519', ['-algorithm', 'ED25519']],
])('a key of type %s is accepted', (_, key) => {
  expect(leafWith({ key })().names).toHaveLength(2);
});

test.each([
  ['RSA 1024', ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:1024']],
  ['P-521', ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-521']],
  ['secp256k1', ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:secp256k1']],
  ['RSA-PSS', ['-algorithm', 'RSA-PSS', '-pkeyopt', 'rsa_keygen_bits:2048']],
])('a key of type %s is refused', (_, key) => {
  expect(leafWith({ key })).toThrow();
});

test('keys in the older formats are accepted', () => {
  const sec1 = createPrivateKey(made.keyPem).export({ type: 'sec1', format: 'pem' }) as string;
  expect(read(full(made), sec1).names).toHaveLength(2);
});

test('encrypted keys are refused with the reason, in both formats', () => {
  const cipher = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' } as const;
  expect(() => read(full(made), createPrivateKey(made.keyPem).export(cipher) as string)).toThrow(code('key_encrypted'));
  const old = execFileSync('openssl', ['ec', '-aes128', '-passout', 'pass:secret'], {
    input: made.keyPem,
    stdio: 'pipe',
  });
  expect(() => read(full(made), old.toString())).toThrow(code('key_encrypted'));
});

test('a chain is refused before it is valid and once any part has expired', () => {
  expect(() => read(full(made), made.keyPem, new Date(now.getTime() - 2 * dayMs))).toThrow(code('not_yet_valid'));
  expect(() => read(full(made), made.keyPem, new Date(now.getTime() + 91 * dayMs))).toThrow(code('expired'));
});

test('a certificate without host names, or for clients only, is refused', () => {
  expect(leafWith({ names: [] })).toThrow(code('names_invalid'));
  expect(leafWith({ names: ['app.localhost', 'intranet'] })).toThrow(code('names_invalid'));
  expect(leafWith({ extensions: ['extendedKeyUsage=clientAuth'] })).toThrow(code('not_for_servers'));
  expect(leafWith({ extensions: ['extendedKeyUsage=clientAuth,serverAuth'] })().names).toHaveLength(2);
});

test('hostile and mistaken texts are refused without their content', () => {
  const wrong: [string, string, string][] = [
    ['chain_invalid', '', made.keyPem],
    ['chain_invalid', 'not a certificate', made.keyPem],
    ['chain_invalid', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', made.keyPem],
    ['chain_invalid', made.leafPem.slice(0, 200), made.keyPem],
    ['chain_too_long', made.leafPem.repeat(11), made.keyPem],
    ['key_in_chain', `${full(made)}\n${made.keyPem}`, made.keyPem],
    ['key_invalid', full(made), ''],
    ['key_invalid', full(made), made.leafPem],
    ['key_invalid', full(made), made.keyPem.repeat(2)],
    ['key_invalid', full(made), made.keyPem.replace(/\n[A-Za-z0-9+/]{8}/, '\nAAAAAAAA')],
  ];
  for (const [name, chainPem, keyPem] of wrong) {
    expect(() => read(chainPem, keyPem), name).toThrow(code(name));
  }
});
