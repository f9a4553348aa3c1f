// Reads an API token from a request (RFC 6750, section 2.1).

/**
 * Returns null without an Authorization header. A header without a bearer token counts as an empty token, never as
 * anonymous.
 */
export function bearerOf(headers: Headers): string | null {
  const header = headers.get('authorization');
  if (header === null) return null;
  return /^bearer +(\S+) *$/i.exec(header)?.[1] ?? '';
}
