// What every request and every answer of this process goes through: changes come from our own pages, and answers carry the
// security headers. proxy.ts asks for all but uploads, whose routes ask themselves: before a handler gets a body that passed
// proxy.ts, Next holds it in memory and cuts it off at 10 MB.
import { ownOrigins, webEnv } from './env-of-process.ts';
import { isForPrograms, mayChange } from './origin.ts';
import { securityHeaders } from './security-headers.ts';

/** Null: it may go on. */
export function refuseForeign({ method, headers, url }: Request): Response | null {
  const change = { method, origin: headers.get('origin'), site: headers.get('sec-fetch-site') };
  if (isForPrograms(new URL(url).pathname) || mayChange(change, ownOrigins())) return null;
  return withSecurityHeaders(
    Response.json({ message: 'This request did not come from a page of this dashboard.' }, { status: 403 }),
  );
}

export function withSecurityHeaders<Answer extends Response>(response: Answer): Answer {
  const headers = securityHeaders(webEnv().FAIRLEAD_PUBLIC_URL);
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
