// Validates the redirect target after sign-in: accepts only a path of this site, because the link may come from an
// attacker.

export function safeNext(next: string | null | undefined): string {
  if (!next?.startsWith('/') || next.startsWith('//') || next.includes('\\')) return '/';
  const { origin, pathname, search, hash } = new URL(next, 'http://here.invalid');
  // Check the resolved path: without its dot segments, "/..//evil.example" would be a URL of another host.
  if (origin !== 'http://here.invalid' || pathname.startsWith('//')) return '/';
  return `${pathname}${search}${hash}`;
}
