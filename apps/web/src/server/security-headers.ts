// The headers that keep a page from being framed, sniffed or made to run foreign code. Pure.

export interface PolicyOptions {
  readonly nonce: string;
  /** React's development build evaluates strings to show where an error came from. */
  readonly development: boolean;
}

/** Scripts run by nonce only. Style attributes are allowed: charts and meters set their geometry with them. */
export function contentSecurityPolicy({ nonce, development }: PolicyOptions): string {
  const script = `'self' 'nonce-${nonce}' 'strict-dynamic'${development ? " 'unsafe-eval'" : ''}`;
  return [
    "default-src 'none'",
    `script-src ${script}`,
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${development ? ' ws:' : ''}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ].join('; ');
}

const fixedHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

// A year, this host alone: apps on hosts below it decide for themselves.
const httpsOnly = 'max-age=31536000';

/** The same for every answer. `publicUrl`: https there means that nobody should ever ask over plain http. */
export function securityHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return publicUrl.startsWith('https:') ? { ...fixedHeaders, 'strict-transport-security': httpsOnly } : fixedHeaders;
}
