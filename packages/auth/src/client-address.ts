// Finds the client address of a request. It believes a forwarded address only from a trusted proxy.
import { getIPFromHeader } from '@better-auth/core/utils/ip';

/** Returns the client's address; null without a trusted proxy. An IPv6 network counts as one address. */
export function clientAddress(headers: Headers, trustedProxies: readonly string[]): string | null {
  const forwarded = headers.get('x-forwarded-for');
  if (forwarded === null || trustedProxies.length === 0) return null;
  return getIPFromHeader(forwarded, { trustedProxies: [...trustedProxies] });
}
