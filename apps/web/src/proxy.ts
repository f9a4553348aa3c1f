// Runs before every page and API call: refuses changes from foreign pages and sets the security headers.
// Owns no session and no permission; the API's ladder does that.
import { refusePage } from '@fairlead/api/rate-limit';
import { type NextRequest, NextResponse } from 'next/server';
import { ownOrigins, webEnv } from './server/env-of-process.ts';
import { isForPrograms, mayChange } from './server/origin.ts';
import { rateLimit } from './server/rate-limit.ts';
import { contentSecurityPolicy, securityHeaders } from './server/security-headers.ts';

export async function proxy(request: NextRequest): Promise<NextResponse> {
  const { method, headers: sent, nextUrl } = request;
  const change = { method, origin: sent.get('origin'), site: sent.get('sec-fetch-site') };
  if (!isForPrograms(nextUrl.pathname) && !mayChange(change, ownOrigins())) {
    return withHeaders(
      NextResponse.json({ message: 'This request did not come from a page of this dashboard.' }, { status: 403 }),
    );
  }
  if (isPage(nextUrl.pathname)) {
    const refused = await refusePage(rateLimit(), sent, webEnv().FAIRLEAD_TRUSTED_PROXIES);
    if (refused !== null) {
      return withHeaders(new NextResponse(refused.message, { status: refused.status, headers: refused.headers }));
    }
  }
  const nonce = btoa(crypto.randomUUID());
  const policy = contentSecurityPolicy({ nonce, development: process.env.NODE_ENV === 'development' });
  const headers = new Headers(request.headers);
  // Next reads the nonce from here and puts it on every script it writes.
  headers.set('content-security-policy', policy);
  headers.set('x-fairlead-path', request.nextUrl.pathname);
  const response = withHeaders(NextResponse.next({ request: { headers } }));
  response.headers.set('content-security-policy', policy);
  return response;
}

/** What is no page counts its own calls, or is asked by those who watch whether this process lives. */
function isPage(pathname: string): boolean {
  return !pathname.startsWith('/api/') && pathname !== '/healthz';
}

function withHeaders(response: NextResponse): NextResponse {
  const headers = securityHeaders(webEnv().FAIRLEAD_PUBLIC_URL);
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

export const config = {
  matcher: [{ source: '/((?!_next/static|icon.svg).*)' }],
};
