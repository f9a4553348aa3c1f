// Next.js proxy before every page and API call except uploads: rejects cross-site changes and sets security headers.
// Checks no session and no permission; the API's procedures do.
import { refusePage } from '@fairlead/api/rate-limit';
import { type NextRequest, NextResponse } from 'next/server';
import { trustedProxies } from './server/env.ts';
import { webEnv } from './server/env-of-process.ts';
import { refuseCrossSite, withSecurityHeaders } from './server/guard.ts';
import { rateLimit } from './server/rate-limit.ts';
import { isCountedByProxy } from './server/rate-limited-paths.ts';
import { contentSecurityPolicy, isReportPath } from './server/security-headers.ts';

export async function proxy(request: NextRequest): Promise<Response> {
  const foreign = refuseCrossSite(request);
  if (foreign !== null) return foreign;
  const limit = rateLimit();
  if (limit !== null && isCountedByProxy(request.nextUrl.pathname)) {
    const page = { headers: request.headers, pathname: request.nextUrl.pathname };
    const refused = await refusePage(limit, page, trustedProxies(webEnv()));
    if (refused !== null) {
      return withSecurityHeaders(
        new NextResponse(refused.message, { status: refused.status, headers: refused.headers }),
      );
    }
  }
  // A published report has a policy of its own, which is stricter: it has no script.
  if (isReportPath(request.nextUrl.pathname)) return withSecurityHeaders(NextResponse.next());
  const nonce = btoa(crypto.randomUUID());
  const policy = contentSecurityPolicy({
    nonce,
    development: process.env.NODE_ENV === 'development',
    postsAway: /^\/[^/]+\/settings\/git\/register$/.test(request.nextUrl.pathname),
  });
  const headers = new Headers(request.headers);
  // Next reads the nonce from this header and sets it on every script.
  headers.set('content-security-policy', policy);
  headers.set('x-fairlead-path', pathOf(request.nextUrl));
  const response = withSecurityHeaders(NextResponse.next({ request: { headers } }));
  response.headers.set('content-security-policy', policy);
  return response;
}

/** Returns the address of the page to come back to after a sign-in, without the parameter of Next's own requests. */
function pathOf({ pathname, searchParams }: URL): string {
  const query = new URLSearchParams(searchParams);
  query.delete('_rsc');
  return query.size === 0 ? pathname : `${pathname}?${query}`;
}

export const config = {
  // Uploads are guarded by their routes (server/guard.ts), and webhooks by their signatures. Each name ends in an anchor
  // or a slash, because a page's path may start with it.
  matcher: [
    { source: '/((?!_next/static/|icon\\.svg$|api/deployment/upload$|api/v1/deployment/upload$|api/webhook/).*)' },
  ],
};
