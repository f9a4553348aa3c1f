// Makes SSH keys: Ed25519 (RFC 8709), the private key in OpenSSH's own format (PROTOCOL.key of OpenSSH), which every
// ssh reads. Pure except for the randomness.
import { generateKeyPairSync, randomBytes } from 'node:crypto';

export interface SshKey {
  /** "ssh-ed25519 AAAA… comment", one line without its end. */
  readonly publicKey: string;
  /** PEM, with its last line's end. */
  readonly privateKey: string;
}

const type = 'ssh-ed25519';

/** `comment` goes into both halves; it has no line breaks. */
export function createSshKey(comment: string): SshKey {
  const pair = generateKeyPairSync('ed25519');
  const { x = '', d = '' } = pair.privateKey.export({ format: 'jwk' });
  const [publicBytes, seed] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')];
  const publicBlob = Buffer.concat([field(type), field(publicBytes)]);
  const check = randomBytes(4);
  const secret = pad(
    Buffer.concat([
      check,
      check,
      field(type),
      field(publicBytes),
      field(Buffer.concat([seed, publicBytes])),
      field(comment),
    ]),
  );
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    // No cipher, no key derivation: what encrypts it is the envelope that it is stored in.
    field('none'),
    field('none'),
    field(''),
    number(1),
    field(publicBlob),
    field(secret),
  ]);
  const lines = whole.toString('base64').match(/.{1,70}/g) ?? [];
  return {
    publicKey: `${type} ${publicBlob.toString('base64')} ${comment}`,
    privateKey: ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n'),
  };
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}

/** 1, 2, 3 … up to a whole block of eight. */
function pad(bytes: Buffer): Buffer {
  const missing = (8 - (bytes.length % 8)) % 8;
  return Buffer.concat([bytes, Buffer.from(Array.from({ length: missing }, (_, index) => index + 1))]);
}
