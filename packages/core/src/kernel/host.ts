// Owns how host names lie to each other. Must never ask a resolver.

/** Nothing lies at or below an empty name. */
export function isAtOrBelow(host: string, above: string): boolean {
  return above !== '' && (host === above || host.endsWith(`.${above}`));
}
