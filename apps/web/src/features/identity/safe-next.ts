// Where to go after sign-in. Only a path of this site: an address from outside in the link must lead nowhere else.

export function safeNext(next: string | null | undefined): string {
  if (!next?.startsWith('/') || next.startsWith('//') || next.includes('\\')) return '/';
  const { origin, pathname, search } = new URL(next, 'http://here.invalid');
  // Looked at again when it is resolved: without its dot segments, "/..//evil.example" is an address of another host.
  if (origin !== 'http://here.invalid' || pathname.startsWith('//')) return '/';
  return `${pathname}${search}`;
}
