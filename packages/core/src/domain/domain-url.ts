// Address at which a browser opens a domain. Pure.
import { isPublicHost } from '../kernel/index.ts';
import { domainLabel, type Route } from './rules.ts';

/** Ports of the local server's proxy; every other server serves on 443 and 80. */
export interface AppLinks {
  readonly localHttpsPort: number;
  readonly localHttpPort: number;
}

export function domainUrl(route: Route, onLocalServer: boolean, links: AppLinks): string {
  const { host } = route;
  // Browsers don't know the authority of a name below `localhost`, and its route serves plain HTTP too.
  const [scheme, localPort, usualPort] = isPublicHost(host)
    ? (['https', links.localHttpsPort, 443] as const)
    : (['http', links.localHttpPort, 80] as const);
  const port = onLocalServer && localPort !== usualPort ? `:${localPort}` : '';
  return `${scheme}://${host}${port}${domainLabel(route).slice(host.length)}`;
}
