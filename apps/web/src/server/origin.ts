// Whether a request that changes something comes from one of our own pages. Pure.

const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Browsers name the origin of every POST, so one without it comes from no page of ours and gets no use of a cookie.
 * The set is asked exactly: no prefixes, no wildcards.
 */
export function mayChange(method: string, origin: string | null, trusted: readonly string[]): boolean {
  if (READING.has(method)) return true;
  return origin !== null && trusted.includes(origin);
}

/** The HTTP API takes no cookie, so a foreign page gains nothing by sending there; programs have no origin to name. */
export function isForPrograms(pathname: string): boolean {
  return pathname.startsWith('/api/v1/');
}
