// Names and attributes of identity's cookies, and the reading of one.

export interface CookieWords {
  readonly prefix: string;
  readonly isHttps: boolean;
}

/**
 * Browsers accept a `__Host-` cookie from this very host over https only (RFC 6265bis, section 4.1.3.2), so that no
 * app on a neighbouring host can plant a session. Plain http has no such prefix; there the port in the name separates
 * the cookies of one host.
 */
export function cookieWords(baseUrl: string): CookieWords {
  const { protocol, port } = new URL(baseUrl);
  const isHttps = protocol === 'https:';
  return { isHttps, prefix: isHttps ? '__Host-fairlead' : `fairlead-${port || '80'}` };
}

export function readCookie(headers: Headers, name: string): string | null {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return decode(pair.slice(at + 1).trim());
  }
  return null;
}

export function writeCookie(name: string, value: string, maxAgeSeconds: number, isHttps: boolean): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
