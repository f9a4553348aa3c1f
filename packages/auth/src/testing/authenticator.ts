// A passkey device in a few lines (WebAuthn level 2, section 6): one ES256 key, attestation "none". For tests that must lie,
// which no browser's virtual authenticator does.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { origin } from './index.ts';

export interface AuthenticatorOptions {
  /** True if it verified the user. */
  readonly isVerified?: boolean;
  readonly origin?: string;
  /** Host that the passkey belongs to. */
  readonly host?: string;
}

export interface Authenticator {
  create(options: { challenge: string }, change?: AuthenticatorOptions): object;
  get(options: { challenge: string }, change?: AuthenticatorOptions): object;
}

const ownHost = new URL(origin).hostname;
const [present, verified, attested] = [0x01, 0x04, 0x40];

export function createAuthenticator(): Authenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(16);
  const named = { id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key' };
  let counter = 0;
  const dataOf = (flags: number, host = ownHost, more: Buffer = Buffer.alloc(0)) => {
    counter += 1;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    return Buffer.concat([createHash('sha256').update(host).digest(), Buffer.from([flags]), count, more]);
  };
  return {
    create: ({ challenge }, change = {}) => {
      const flags = present | attested | (change.isVerified === false ? 0 : verified);
      const idLength = Buffer.from([0, id.length]);
      const authData = dataOf(
        flags,
        change.host,
        Buffer.concat([Buffer.alloc(16), idLength, id, cosePublicKey(publicKey)]),
      );
      const attestationObject = cborMap([
        [cborText('fmt'), cborText('none')],
        [cborText('attStmt'), cborMap([])],
        [cborText('authData'), cborBytes(authData)],
      ]);
      const clientDataJSON = clientData('webauthn.create', challenge, change.origin ?? origin).toString('base64url');
      return {
        ...named,
        response: {
          clientDataJSON,
          attestationObject: attestationObject.toString('base64url'),
          transports: ['internal'],
        },
      };
    },
    get: ({ challenge }, change = {}) => {
      const authenticatorData = dataOf(present | (change.isVerified === false ? 0 : verified), change.host);
      const client = clientData('webauthn.get', challenge, change.origin ?? origin);
      const signed = Buffer.concat([authenticatorData, createHash('sha256').update(client).digest()]);
      return {
        ...named,
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: authenticatorData.toString('base64url'),
          signature: sign('sha256', signed, privateKey).toString('base64url'),
        },
      };
    },
  };
}

function clientData(type: string, challenge: string, from: string): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin: from, crossOrigin: false }));
}

/** RFC 9053, section 7.1: kty EC2, alg ES256, crv P-256, x, y. */
function cosePublicKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return cborMap([
    [cborInteger(1), cborInteger(2)],
    [cborInteger(3), cborInteger(-7)],
    [cborInteger(-1), cborInteger(1)],
    [cborInteger(-2), cborBytes(Buffer.from(x, 'base64url'))],
    [cborInteger(-3), cborBytes(Buffer.from(y, 'base64url'))],
  ]);
}

// CBOR (RFC 8949): as much of it as a passkey needs.
function cborHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value]);
  if (value < 256) return Buffer.from([(major << 5) | 24, value]);
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255]);
}
const cborInteger = (value: number) => (value >= 0 ? cborHead(0, value) : cborHead(1, -1 - value));
const cborBytes = (bytes: Buffer) => Buffer.concat([cborHead(2, bytes.length), bytes]);
const cborText = (text: string) => Buffer.concat([cborHead(3, text.length), Buffer.from(text)]);
const cborMap = (entries: readonly (readonly [Buffer, Buffer])[]) =>
  Buffer.concat([cborHead(5, entries.length), ...entries.flat()]);
