// Texts of identity's mails.
// Invariant: they name only facts that the reader knows, and no secret except the link.
import type { Mail } from '@fairlead/mail';

const ignore = "If that wasn't you, ignore this email: nothing changes.";

export function verifyMail(to: string, url: string): Mail {
  return {
    to,
    subject: 'Confirm your email address',
    paragraphs: ['A Fairlead account uses this address. Confirm that the account is yours.', ignore],
    action: { label: 'Confirm the address', url },
  };
}

export function resetMail(to: string, url: string): Mail {
  return {
    to,
    subject: 'Set a new password',
    paragraphs: ['You asked to set a new password. The link works once, within 30 minutes.', ignore],
    action: { label: 'Set a new password', url },
  };
}

const restoreHint =
  "If that wasn't you, restore your account: the link works once, within 7 days. It sets a new password and this address, " +
  'removes every passkey, authenticator app, recovery code and link to GitHub, and ends all sessions.';
const restoreLabel = 'Restore your account';

/** `restoreUrl` is null when the change rested on a proven factor, or this address was never confirmed. */
export function emailChangedMail(to: string, restoreUrl: string | null): Mail {
  const changed = 'The email address of your account was changed. You can no longer sign in with this one.';
  const subject = 'Your email address was changed';
  if (restoreUrl !== null) {
    return { to, subject, paragraphs: [changed, restoreHint], action: { label: restoreLabel, url: restoreUrl } };
  }
  return {
    to,
    subject,
    paragraphs: [
      changed,
      "If that wasn't you, ask an owner of your organization or the person who runs this server for help at once.",
    ],
  };
}

export function newDeviceMail(to: string, device: string, ip: string | null, url: string): Mail {
  return {
    to,
    subject: 'New sign-in to your account',
    paragraphs: [
      `A new device signed in to your account: ${device}${ip === null ? '' : `, at ${ip}`}.`,
      "If that wasn't you, end that session and change your password.",
    ],
    action: { label: 'Look at your sessions', url },
  };
}

const changes = {
  password_changed: 'Your password was changed. All other sessions were ended.',
  password_reset: 'Your password was reset by a link. All sessions were ended.',
  passkey_added:
    'A passkey was added to your account. It signs in without a password. Sessions that had proven no second factor were ended.',
  passkey_removed: 'A passkey was removed from your account.',
  two_factor_on: 'Two-factor sign-in was turned on. Sessions that had proven no second factor were ended.',
  two_factor_off: 'Two-factor sign-in was turned off: your password alone opens your account.',
  github_linked:
    'A GitHub account was linked to your account. It can be used to sign in, and to re-run, roll back and promote your deployments from GitHub.',
  github_unlinked: 'An account at GitHub was unlinked from your account.',
  account_restored: 'Your account was restored by a link, with a new password. All sessions were ended.',
  recovery_codes_made: 'New recovery codes were made; the old ones no longer work.',
} as const;

export type NoticedChange = keyof typeof changes;

export function changeMail(to: string, change: NoticedChange, url: string): Mail {
  return {
    to,
    subject: 'Your account was changed',
    paragraphs: [changes[change], "If that wasn't you, review your account immediately."],
    action: { label: 'Open your account', url },
  };
}

/** Reports an account's first factor, while the owner of the mailbox may still undo it. */
export function firstFactorMail(to: string, change: NoticedChange, restoreUrl: string): Mail {
  return {
    to,
    subject: 'Your account was changed',
    paragraphs: [changes[change], restoreHint],
    action: { label: restoreLabel, url: restoreUrl },
  };
}
