// Where to go after sign-in. Only a path of this site: an address from outside in the link must lead nowhere else.

export function safeNext(next: string | null | undefined): string {
  if (!next?.startsWith('/') || next.startsWith('//') || next.includes('\\')) return '/';
  const resolved = new URL(next, 'http://here.invalid');
  return resolved.origin === 'http://here.invalid' ? `${resolved.pathname}${resolved.search}` : '/';
}
