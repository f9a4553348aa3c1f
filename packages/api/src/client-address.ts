// Owns where a request came from. Must never believe a header that anybody but a trusted proxy may have written.
import { isInRanges, plainAddress } from '@fairlead/core/kernel';

/**
 * Proxies append to X-Forwarded-For the address that they saw, so it is read from the right: the first address that is
 * not one of ours is the client. Without trusted proxies nobody vouches for the header, and the answer is null.
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
