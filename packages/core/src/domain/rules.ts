// Formats a domain, and tells which have a policy. Pure.

/** Route to an app. */
export interface Route {
  readonly host: string;
  readonly pathPrefix: string;
}

/** As people write it: `shop.example.com`, `shop.example.com/api`. */
export function domainLabel(route: Route): string {
  return `${route.host}${route.pathPrefix === '/' ? '' : route.pathPrefix}`;
}

/** True if a stored policy has an effect; one with nothing but defaults is stored as an empty object. */
export function hasPolicy(stored: unknown): boolean {
  return typeof stored === 'object' && stored !== null && Object.keys(stored).length > 0;
}

/** True for a host that stands for many names, so that no browser can open it. */
export function isWildcard({ host }: Pick<Route, 'host'>): boolean {
  return host.startsWith('*.');
}

/**
 * Returns the other host of a pair such as `example.com` and `www.example.com`, for a form that offers it; null for a host that
 * usually stands alone. It guesses by the form of the name, because the list of public suffixes is too long for a browser.
 */
export function pairedHost(host: string): string | null {
  const labels = host.split('.');
  if (labels.length < 2 || labels.some((label) => label === '' || label === '*') || host.endsWith('.localhost'))
    return null;
  if (labels[0] === 'www') return labels.length > 2 ? labels.slice(1).join('.') : null;
  const [second = '', top = ''] = labels.slice(-2);
  const suffixLabels = top.length === 2 && second.length <= 3 ? 2 : 1;
  return labels.length === suffixLabels + 1 || labels.length === 2 ? `www.${host}` : null;
}
