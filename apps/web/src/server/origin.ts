// Cross-site check: decides if a request that changes something comes from a page of this site. Pure.

const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface ChangeRequest {
  readonly method: string;
  readonly origin: string | null;
  /** Sec-Fetch-Site header: the browser's relation of page and target; null from browsers without it. */
  readonly site: string | null;
}

/**
 * True if the origin is trusted. Browsers send an origin with every POST, so a request without one comes from no page
 * of ours and may not use a cookie. Matches exactly: no prefixes, no wildcards.
 */
export function isTrustedChange(request: ChangeRequest, trusted: readonly string[]): boolean {
  const { method, origin, site } = request;
  if (READING.has(method)) return true;
  if (site !== null && site !== 'same-origin') return false;
  return origin !== null && trusted.includes(origin);
}

/** True for the HTTP API: it accepts no cookie, so a cross-site page gains nothing, and programs send no origin. */
export function isTokenApi(pathname: string): boolean {
  return pathname.startsWith('/api/v1/');
}
