// Paths that count their own calls; proxy.ts counts every other one, also those that lead nowhere. Pure.

/** A batch is several calls, and a token's calls count for the token, so these routes count what they read. */
const countThemselves: readonly RegExp[] = [/^\/api\/auth\//, /^\/api\/trpc\/[^/]+$/, /^\/api\/v1\//];
const countThemselvesExactly: readonly string[] = ['/api/audit/export', '/api/deployment/upload'];
/** Answers every caller from memory, because a balancer would take a refusal for a dead process. */
const uncounted = '/healthz';

export function isCountedByProxy(pathname: string): boolean {
  if (pathname === uncounted || countThemselvesExactly.includes(pathname)) return false;
  return !countThemselves.some((path) => path.test(pathname));
}
