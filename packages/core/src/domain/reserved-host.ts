// Reserved hosts, which no app may have. Pure.
import { isHostAtOrBelow } from '../kernel/index.ts';

export interface HostPolicy {
  /** The host under which the local server fronts the control plane; empty when it does not. */
  readonly controlHost: string;
  /** The dashboard's public host. */
  readonly publicHost: string;
}

/**
 * The control plane's own hosts, and everything below the one that its local server fronts: a page there may set cookies
 * for the host above it.
 */
export function isReservedHost(host: string, { controlHost, publicHost }: HostPolicy): boolean {
  return host === publicHost || isHostAtOrBelow(host, controlHost);
}
