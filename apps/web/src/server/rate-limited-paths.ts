// Paths that count their own calls for the rate limit; proxy.ts counts every other path, unknown ones included. Pure.

/** A batch has several calls, and a token's calls count for the token, so these routes count what they read. */
const countThemselves: readonly RegExp[] = [
  /^\/api\/auth\//,
  /^\/api\/trpc\/[^/]+$/,
  /^\/api\/v1\//,
  /^\/api\/webhook\//,
];
const countThemselvesExactly: readonly string[] = ['/api/audit/export', '/api/deployment/upload'];
/** Never limited, because a load balancer would take a refusal for a dead process. */
const uncounted = '/healthz';

export function isCountedByProxy(pathname: string): boolean {
  if (pathname === uncounted || countThemselvesExactly.includes(pathname)) return false;
  return !countThemselves.some((path) => path.test(pathname));
}
