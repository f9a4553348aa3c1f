// Finds the client address of a request.
// Invariant: it never believes a header that anyone but a trusted proxy may have written.
import { forwardedAddress } from '@fairlead/core/kernel';

/** Returns the client's address. Null without trusted proxies, because the header could then be forged. */
export function clientAddress(headers: Headers, trustedProxies: readonly string[]): string | null {
  if (trustedProxies.length === 0) return null;
  return forwardedAddress(headers.get('x-forwarded-for') ?? '', trustedProxies);
}
