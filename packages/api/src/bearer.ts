// Owns reading an API token from a request (RFC 6750, section 2.1).

/** Null without an Authorization header; whatever stands there that is no bearer token is an empty one, never nobody. */
export function bearerOf(headers: Headers): string | null {
  const header = headers.get('authorization');
  if (header === null) return null;
  return /^bearer +(\S+) *$/i.exec(header)?.[1] ?? '';
}
