// Signs in and out from a page, with outcomes that a form can show.
import { type AuthResult, authClient } from '@fairlead/auth/client';

export type SignInOutcome =
  | 'ok'
  | 'needs_code'
  | 'wrong'
  | 'code_wrong'
  | 'expired'
  | 'passkey_refused'
  | 'passkey_closed'
  | 'too_many'
  | 'unreachable';

export function signIn(email: string, password: string): Promise<SignInOutcome> {
  return outcomeOf(authClient.signIn({ email, password }));
}

/** Completes the second factor: six digits are an authenticator code, everything else is a recovery code. */
export function signInByCode(typed: string): Promise<SignInOutcome> {
  const code = typed.replaceAll(/\s/g, '');
  return outcomeOf(/^\d{6}$/.test(code) ? authClient.signInByCode(code) : authClient.signInByRecoveryCode(code));
}

export function signInByPasskey(): Promise<SignInOutcome> {
  return outcomeOf(authClient.signInByPasskey());
}

export async function signOut(): Promise<boolean> {
  const result = await authClient.signOut().catch(() => null);
  return result?.ok === true;
}

async function outcomeOf(call: Promise<AuthResult>): Promise<SignInOutcome> {
  // The browser rejects only when no response arrived at all.
  const result = await call.catch(() => undefined);
  if (result === undefined) return 'unreachable';
  if (result.ok) return result.needsCode ? 'needs_code' : 'ok';
  switch (result.errorCode) {
    case null:
      return 'passkey_closed';
    case 'request.too_many':
    case 'request.rate_limited':
      return 'too_many';
    case 'session.credentials_wrong':
    case 'input.invalid':
      return 'wrong';
    case 'session.code_wrong':
      return 'code_wrong';
    case 'session.step_expired':
      return 'expired';
    case 'session.passkey_refused':
      return 'passkey_refused';
    default:
      return 'unreachable';
  }
}
