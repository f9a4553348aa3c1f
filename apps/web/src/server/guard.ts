// Cross-site check and security headers for every request of this process. Upload routes call it themselves: proxy.ts
// would make Next buffer their bodies and cut them off at 10 MB.
import { ownOrigins, webEnv } from './env-of-process.ts';
import { isTokenApi, isTrustedChange } from './origin.ts';
import { securityHeaders } from './security-headers.ts';

/** Returns null when the request is allowed. */
export function refuseCrossSite({ method, headers, url }: Request): Response | null {
  const change = { method, origin: headers.get('origin'), site: headers.get('sec-fetch-site') };
  if (isTokenApi(new URL(url).pathname) || isTrustedChange(change, ownOrigins())) return null;
  return withSecurityHeaders(
    Response.json({ message: 'This request did not come from a page of this dashboard.' }, { status: 403 }),
  );
}

export function withSecurityHeaders<Answer extends Response>(response: Answer): Answer {
  const headers = securityHeaders(webEnv().FAIRLEAD_PUBLIC_URL);
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
