// Signs in and out from a page, with outcomes that a form can show.
import { type AuthResult, authClient } from '@fairlead/auth/client';
import type { ErrorCode } from '@fairlead/contract/errors';

export type SignInOutcome =
  | 'ok'
  | 'needs_code'
  | 'wrong'
  | 'code_wrong'
  | 'expired'
  | 'passkey_refused'
  | 'passkey_closed'
  | 'github_expired'
  | 'github_unknown'
  | 'github_off'
  | 'github_unreachable'
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

const nextKey = 'fairlead.next';

/** Returns the address at GitHub. The page to open afterwards stays in this tab. */
export async function startGithubSignIn(
  next: string,
): Promise<{ readonly url: string } | Exclude<SignInOutcome, 'ok' | 'needs_code'>> {
  const result = await authClient.startGithubSignIn().catch(() => undefined);
  if (result === undefined) return 'unreachable';
  if ('url' in result) {
    window.sessionStorage.setItem(nextKey, next);
    return result;
  }
  return failureOf(result.errorCode);
}

export function completeGithubSignIn(state: string, code: string): Promise<SignInOutcome> {
  return outcomeOf(authClient.completeGithubSignIn({ state, code }));
}

/** Returns the page to open after a sign-in through GitHub. */
export function takeNext(): string {
  const next = window.sessionStorage.getItem(nextKey) ?? '/';
  window.sessionStorage.removeItem(nextKey);
  return next;
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
  return failureOf(result.errorCode);
}

function failureOf(errorCode: ErrorCode | null): Exclude<SignInOutcome, 'ok' | 'needs_code'> {
  switch (errorCode) {
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
    case 'github.state_invalid':
    case 'github.code_refused':
      return 'github_expired';
    case 'session.github_unknown':
      return 'github_unknown';
    case 'session.github_off':
      return 'github_off';
    case 'github.unreachable':
    case 'github.rate_limited':
    case 'github.unauthorized':
    case 'github.forbidden':
    case 'github.address_refused':
      return 'github_unreachable';
    default:
      return 'unreachable';
  }
}
