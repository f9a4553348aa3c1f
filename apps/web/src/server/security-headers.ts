// Security headers against framing, sniffing and foreign scripts. Pure.

export interface PolicyOptions {
  readonly nonce: string;
  /** True for React's development build, which evaluates strings to locate errors. */
  readonly development: boolean;
  /** True for the page that posts a form to GitHub, at an address that the person types. */
  readonly postsAway?: boolean;
}

/** Allows scripts by nonce only. Allows style attributes, because charts and meters set their geometry with them. */
export function contentSecurityPolicy({ nonce, development, postsAway = false }: PolicyOptions): string {
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
    `form-action 'self'${postsAway ? ' https: http://127.0.0.1:*' : ''}`,
    "frame-ancestors 'none'",
    "object-src 'none'",
  ].join('; ');
}

/** True for the parts of a published report, which set a policy without scripts themselves. */
export function isReportPath(pathname: string): boolean {
  return /^\/reports\/[^/]+(?:\/(?:rows\.json|image\.png))?$/.test(pathname);
}

const fixedHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

// One year, this host only: apps on hosts below it decide for themselves.
const httpsOnly = 'max-age=31536000';

/** Returns the headers of every response. An https `publicUrl` adds HSTS. */
export function securityHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return publicUrl.startsWith('https:') ? { ...fixedHeaders, 'strict-transport-security': httpsOnly } : fixedHeaders;
}
