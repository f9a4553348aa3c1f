// Formats a domain and its URL, and tells which have a policy. Pure.

export interface AppLinks {
  /** The port on which the local server's proxy serves HTTPS; every other server serves on 443. */
  readonly localHttpsPort: number;
}

export function domainUrl(route: Route, onLocalServer: boolean, links: AppLinks): string {
  const port = onLocalServer && links.localHttpsPort !== 443 ? `:${links.localHttpsPort}` : '';
  return `https://${route.host}${port}${pathOf(route)}`;
}

/** Route to an app. */
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

/** True if a stored policy has an effect; one with nothing but defaults is stored as an empty object. */
export function hasPolicy(stored: unknown): boolean {
  return typeof stored === 'object' && stored !== null && Object.keys(stored).length > 0;
}
