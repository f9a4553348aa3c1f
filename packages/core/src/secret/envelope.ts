// Envelope of an encrypted value: AES-256-GCM (NIST SP 800-38D) with the value's location as associated data, so that
// it opens only in its own row.
// Invariant: it returns the whole, authentic plain text or nothing.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { AppError } from '../kernel/index.ts';

const formatVersion = 1;
const nonceBytes = 12;
const tagBytes = 16;
export const keyBytes = 32;

export interface EnvelopeKey {
  readonly id: string;
  /** 32 bytes. */
  readonly bytes: Uint8Array;
}

/** Location of a value, used as associated data: all of it is authenticated, none of it is secret. */
export interface Place {
  readonly organizationId: string;
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/** format version (1) · length of the key's id (1) · key id · nonce (12) · cipher text · tag (16) */
export function sealEnvelope(key: EnvelopeKey, place: Place, plain: Uint8Array): Uint8Array<ArrayBuffer> {
  const keyId = Buffer.from(key.id, 'utf8');
  if (keyId.length === 0 || keyId.length > 255) throw new TypeError('the id of a key has 1 to 255 bytes');
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: tagBytes });
  cipher.setAAD(associatedData(key.id, place));
  const head = Buffer.from([formatVersion, keyId.length]);
  return new Uint8Array(Buffer.concat([head, keyId, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]));
}

/** Throws secret.undecryptable for an envelope that was not sealed with that key for that location. */
export function openEnvelope(key: EnvelopeKey, place: Place, envelope: Uint8Array): Buffer {
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.byteLength);
  const idLength = bytes[1] ?? 0;
  const body = 2 + idLength;
  if (bytes[0] !== formatVersion || bytes.length < body + nonceBytes + tagBytes) throw undecryptable(place);
  if (bytes.toString('utf8', 2, body) !== key.id) throw undecryptable(place);
  const nonce = bytes.subarray(body, body + nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: tagBytes });
  decipher.setAAD(associatedData(key.id, place));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(body + nonceBytes, -tagBytes)), decipher.final()]);
  } catch (error) {
    throw undecryptable(place, error);
  }
}

function associatedData(keyId: string, { organizationId, table, row, column }: Place): Buffer {
  // Each part with its length before it: no two places are ever the same bytes.
  const parts = ['fairlead-envelope-v1', keyId, organizationId, table, row, column].map((part) => Buffer.from(part));
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(part.length);
      return [length, part];
    }),
  );
}

function undecryptable({ table, row }: Place, cause?: unknown): AppError {
  return new AppError('secret.undecryptable', { table, row }, { cause });
}
