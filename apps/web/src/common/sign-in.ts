// Signing in over the auth routes, by a plain request: the whole client library is not worth its weight for one call.

export type SignInOutcome = 'ok' | 'wrong' | 'too_many' | 'unreachable';

export async function signIn(email: string, password: string): Promise<SignInOutcome> {
  const response = await fetch('/api/auth/sign-in/email', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  }).catch(() => null);
  if (response === null || response.status >= 500) return 'unreachable';
  if (response.status === 429) return 'too_many';
  return response.ok ? 'ok' : 'wrong';
}
