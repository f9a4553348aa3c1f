// Finds the client address of a request.
// Invariant: it never believes a header that anyone but a trusted proxy may have written.
import { isInRanges, plainAddress } from '@fairlead/core/kernel';

/**
 * Returns the client's address. Proxies append the address that they saw to X-Forwarded-For, so it is read from the
 * right. The first address that is not a trusted proxy is the client. Null without trusted proxies, because the header
 * could then be forged.
 */
export function clientAddress(headers: Headers, trustedProxies: readonly string[]): string | null {
  if (trustedProxies.length === 0) return null;
  const hops = (headers.get('x-forwarded-for') ?? '').split(',').reverse();
  for (const hop of hops) {
    const address = plainAddress(hop);
    if (address === null) return null;
    if (!isInRanges(address, trustedProxies)) return address;
  }
  return null;
}
