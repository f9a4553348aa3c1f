// Addresses below `localhost`: served over HTTP, and over HTTPS with a certificate of the server's local authority, which browsers
// don't know. Pure.

export function isLocalHost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

export function isLocalUrl(url: string | null): url is string {
  return url !== null && URL.canParse(url) && isLocalHost(new URL(url).hostname);
}

/** Returns the address at the port that serves HTTPS. */
export function localHttpsUrl(url: string, httpsPort: number): string {
  const changed = new URL(url);
  changed.protocol = 'https:';
  changed.port = String(httpsPort);
  return changed.href;
}
