// Reports whether a URL has a certificate of a server's local authority, which browsers don't know. Pure.

export function isLocalHttps(url: string | null): boolean {
  if (url === null || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' && (hostname === 'localhost' || hostname.endsWith('.localhost'));
}
