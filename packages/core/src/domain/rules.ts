// Owns how a domain is opened in a browser. Pure.

export interface AppLinks {
  /** The port on which the local server's proxy serves HTTPS; every other server serves on 443. */
  readonly localHttpsPort: number;
}

export function domainUrl(host: string, onLocalServer: boolean, links: AppLinks): string {
  const port = onLocalServer && links.localHttpsPort !== 443 ? `:${links.localHttpsPort}` : '';
  return `https://${host}${port}`;
}
