// Sentences of refused sign-ins. One message for every wrong pair, so that it reveals no account.
import type { SignInOutcome } from '../../common/identity/session-calls.ts';

export type SignInFailure = Exclude<SignInOutcome, 'ok' | 'needs_code'>;

const messages: Record<SignInFailure, string> = {
  wrong: 'Email or password is wrong.',
  code_wrong: 'The code is wrong or was already used. Enter a new code.',
  expired: 'That took too long. Sign in again from the start.',
  passkey_refused: 'This passkey belongs to no account here. Sign in another way, then add it to your account.',
  passkey_closed: 'No passkey was used. Try again, or sign in with your password.',
  github_expired: 'This link from GitHub was used before, or belongs to another browser. Sign in again from the start.',
  github_unknown:
    'No account here is linked to this GitHub account. Sign in another way, then link it on your account page.',
  github_off: 'Sign-in with GitHub is off. Sign in another way.',
  github_unreachable: 'GitHub did not answer as expected. Try again, or sign in another way.',
  too_many:
    'Too many attempts from here. Wait a few minutes, or sign in with a passkey or from a device that you used before.',
  unreachable: "The control plane didn't answer. Check that it runs, then try again.",
};

export function messageOf(failure: SignInFailure): string {
  return messages[failure];
}
