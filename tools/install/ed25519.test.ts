import { execFile } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const program = join(import.meta.dirname, 'ed25519.pl');
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

function rawKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(-32);
}

/** Verifies as install.sh does. */
async function verify(key: Buffer, signature: Buffer, message: Buffer): Promise<boolean> {
  const hash = createHash('sha512').update(signature.subarray(0, 32)).update(key).update(message).digest('hex');
  return run('perl', [program, key.toString('hex'), signature.toString('hex'), hash]).then(
    () => true,
    (error: { code: number; stderr: string }) => {
      if (error.code !== 1 || error.stderr !== '') throw error;
      return false;
    },
  );
}

test('test 3 of RFC 8032 verifies', async () => {
  const seed = 'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7';
  const der = Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex');
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const message = Buffer.from('af82', 'hex');
  const signature = Buffer.from(
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
    'hex',
  );
  expect(await verify(rawKey(createPublicKey(key)), signature, message)).toBe(true);
});

test('signatures of new keys verify, and any changed bit is refused', async () => {
  for (let round = 0; round < 2; round++) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const message = Buffer.alloc(64, round);
    const signature = sign(null, message, privateKey);
    const key = rawKey(publicKey);
    expect(await verify(key, signature, message)).toBe(true);
    for (const bit of [0, 256, 511]) {
      const changed = Buffer.from(signature);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(await verify(key, changed, message)).toBe(false);
    }
    expect(await verify(key, signature, Buffer.alloc(64, round + 1))).toBe(false);
    const other = generateKeyPairSync('ed25519').publicKey;
    expect(await verify(rawKey(other), signature, message)).toBe(false);
  }
});

test('a scalar beyond the order, a key off the curve and a key out of range are refused', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const [message, key] = [Buffer.from('message'), rawKey(publicKey)];
  const signature = sign(null, message, privateKey);
  const scalar = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + ORDER;
  const beyond = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse();
  expect(await verify(key, Buffer.concat([signature.subarray(0, 32), beyond]), message)).toBe(false);
  const offCurve = Buffer.concat([Buffer.from([2]), Buffer.alloc(31)]);
  expect(await verify(offCurve, signature, message)).toBe(false);
  expect(await verify(Buffer.alloc(32, 0xff), signature, message)).toBe(false);
});
