// Format of an API token: `flt_`, 43 letters and digits that hold 32 random bytes, and a checksum of six. Scanners
// for leaked secrets find it by the prefix and confirm it by the checksum. Pure except for the randomness.
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const prefix = 'flt_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 43;
const checksumLength = 6;

export function newToken(bytes: Buffer = randomBytes(32)): string {
  const random = inBase62(BigInt(`0x${bytes.toString('hex')}`), randomLength);
  return `${prefix}${random}${checksumOf(random)}`;
}

/** True if the text has the form of a token; any other text never reaches the database. */
export function isToken(text: string): boolean {
  if (!/^flt_[0-9A-Za-z]{49}$/.test(text)) return false;
  const random = text.slice(prefix.length, -checksumLength);
  return text.slice(-checksumLength) === checksumOf(random);
}

function checksumOf(random: string): string {
  return inBase62(BigInt(crc32(random)), checksumLength);
}

function inBase62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = `${alphabet[Number(rest % 62n)]}${text}`;
  return text;
}
