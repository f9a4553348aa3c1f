// Whether a request that changes something comes from one of our own pages. Pure.

const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface ChangeRequest {
  readonly method: string;
  readonly origin: string | null;
  /** Sec-Fetch-Site: what the browser itself says of page and target; null from browsers that don't know it. */
  readonly site: string | null;
}

/**
 * Browsers name the origin of every POST, so one without it comes from no page of ours and gets no use of a cookie.
 * The set is asked exactly: no prefixes, no wildcards.
 */
export function mayChange(request: ChangeRequest, trusted: readonly string[]): boolean {
  const { method, origin, site } = request;
  if (READING.has(method)) return true;
  if (site !== null && site !== 'same-origin') return false;
  return origin !== null && trusted.includes(origin);
}

/** The HTTP API takes no cookie, so a foreign page gains nothing by sending there; programs have no origin to name. */
export function isForPrograms(pathname: string): boolean {
  return pathname.startsWith('/api/v1/');
}
