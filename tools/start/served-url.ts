// Public URL that the local agent's proxy serves to other machines, with a certificate of its own authority.
import { type Given, isLocalUrl, readEnvironment } from '@fairlead/settings';

/** Ports that browsers assume. */
const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/** Returns the URL; undefined if only this machine reaches it, or a reverse proxy serves it. */
export function servedUrl(given: Given): URL | undefined {
  const { FAIRLEAD_PUBLIC_URL: url, FAIRLEAD_BEHIND_PROXY: isBehindProxy } = readEnvironment('start', given);
  return isLocalUrl(url) || isBehindProxy ? undefined : new URL(url);
}

/** Adds the ports of a served URL, unless ports are given. */
export function withServedPorts(given: Given): Given {
  const url = servedUrl(given);
  if (url === undefined) return given;
  return { FAIRLEAD_HTTPS_PORT: url.port || String(HTTPS_PORT), FAIRLEAD_HTTP_PORT: String(HTTP_PORT), ...given };
}
