// Signing in and out from a page: what happened, in words a form can show.
import { authClient } from '@fairlead/auth/client';

export type SignInOutcome = 'ok' | 'wrong' | 'too_many' | 'unreachable';

export async function signIn(email: string, password: string): Promise<SignInOutcome> {
  // The browser rejects only when no answer came at all.
  const result = await authClient.signIn({ email, password }).catch(() => null);
  if (result === null) return 'unreachable';
  if (result.ok) return 'ok';
  if (result.errorCode === 'request.too_many') return 'too_many';
  return result.errorCode === 'session.credentials_wrong' ? 'wrong' : 'unreachable';
}

export async function signOut(): Promise<boolean> {
  const result = await authClient.signOut().catch(() => null);
  return result?.ok === true;
}
