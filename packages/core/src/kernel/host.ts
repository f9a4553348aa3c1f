// Compares host names. It never asks a resolver.

/** Nothing lies at or below an empty name. */
export function isAtOrBelow(host: string, above: string): boolean {
  return above !== '' && (host === above || host.endsWith(`.${above}`));
}
