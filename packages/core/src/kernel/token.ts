// Single-use tokens: shown once, stored only as a hash.
import { createHash, randomBytes } from 'node:crypto';

export interface MintedToken {
  readonly token: string;
  readonly hash: string;
}

/** 192 random bits, so a plain hash of it cannot be searched. Letters, digits, - and _ only: safe to paste anywhere. */
export function mintToken(prefix: string): MintedToken {
  const token = `${prefix}_${randomBytes(24).toString('base64url')}`;
  return { token, hash: hashToken(token) };
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('hex');
}
