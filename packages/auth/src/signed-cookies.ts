// Tells cookies that this control plane signed from made-up ones, without the database. Never tells whether a session or a
// device still exists.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { cookieWords, readCookie } from './cookies.ts';

export interface SignedCookies {
  /** The token of a session, also of one that has ended. Null when there is none, or its signature is not ours. */
  session(headers: Headers): string | null;
  /** The token of a device that signed in before. */
  device(headers: Headers): string | null;
}

export interface CookieKey {
  readonly secret: string;
  readonly baseUrl: string;
}

export function createSignedCookies({ secret, baseUrl }: CookieKey): SignedCookies {
  const { prefix } = cookieWords(baseUrl);
  const read = (headers: Headers, name: string, sign: (token: string) => string): string | null => {
    const value = readCookie(headers, `${prefix}.${name}`) ?? '';
    const end = value.lastIndexOf('.');
    if (end < 1) return null;
    const token = value.slice(0, end);
    return isSame(value.slice(end + 1), sign(token)) ? token : null;
  };
  return {
    // As better-auth signs it (better-call, signCookieValue).
    session: (headers) => read(headers, 'session_token', (token) => hmac(secret, token).toString('base64')),
    device: (headers) => read(headers, 'device', (token) => deviceSignature(secret, token)),
  };
}

/** Returns the value of a device's cookie. */
export function signDevice(secret: string, token: string): string {
  return `${token}.${deviceSignature(secret, token)}`;
}

function deviceSignature(secret: string, token: string): string {
  return hmac(secret, `known device ${token}`).toString('base64url');
}

function hmac(secret: string, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}

function isSame(shown: string, expected: string): boolean {
  const [left, right] = [Buffer.from(shown), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
