// Owns how a domain is opened in a browser, which hosts no app may have, and which have a policy. Pure.
import { isAtOrBelow } from '../kernel/host.ts';

export interface AppLinks {
  /** The port on which the local server's proxy serves HTTPS; every other server serves on 443. */
  readonly localHttpsPort: number;
}

export function domainUrl(route: Route, onLocalServer: boolean, links: AppLinks): string {
  const port = onLocalServer && links.localHttpsPort !== 443 ? `:${links.localHttpsPort}` : '';
  return `https://${route.host}${port}${pathOf(route)}`;
}

/** What leads to an app. */
export interface Route {
  readonly host: string;
  readonly pathPrefix: string;
}

/** As people write it: `shop.example.com`, `shop.example.com/api`. */
export function domainLabel(route: Route): string {
  return `${route.host}${pathOf(route)}`;
}

function pathOf({ pathPrefix }: Route): string {
  return pathPrefix === '/' ? '' : pathPrefix;
}

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
  return host === publicHost || isAtOrBelow(host, controlHost);
}

/** Whether a stored policy does anything: one of nothing but defaults is stored as an empty object. */
export function hasPolicy(stored: unknown): boolean {
  return typeof stored === 'object' && stored !== null && Object.keys(stored).length > 0;
}
