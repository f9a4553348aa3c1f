// Tells which paths count their own calls; proxy.ts counts every other one, also those that lead nowhere. Pure.

/** A batch is several calls, and a token's calls are its own: these count what they read. */
const countThemselves: readonly RegExp[] = [/^\/api\/auth\//, /^\/api\/trpc\/[^/]+$/, /^\/api\/v1\//];
const countThemselvesExactly: readonly string[] = ['/api/audit/export', '/api/deployment/upload'];
/** Answers from memory whoever asks, because a refusal would look like a dead process to a balancer. */
const uncounted = '/healthz';

export function isCountedByProxy(pathname: string): boolean {
  if (pathname === uncounted || countThemselvesExactly.includes(pathname)) return false;
  return !countThemselves.some((path) => path.test(pathname));
}
