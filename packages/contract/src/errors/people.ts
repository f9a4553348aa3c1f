// Errors of requests, sessions, set-up, accounts, tokens, organizations, members and roles. Part of errors.ts, by
// its rules.
import { conflict, type ErrorEntry, entry, failed, forbidden, invalid, missing } from './entry.ts';

export const peopleErrors = {
  'internal.unexpected': failed('Something went wrong on our side. Try again, or contact support with the error ID.', {
    retryable: true,
  }),
  'request.too_large': entry(413, 'PAYLOAD_TOO_LARGE', 'This is too much for one request. Send less at once.'),
  'input.invalid': invalid('Some fields are invalid. Correct the marked fields.'),
  'request.too_many': entry(
    429,
    'TOO_MANY_REQUESTS',
    'Too many attempts, uploads or live pages at once. Wait a few minutes, or close other pages.',
    {
      retryable: true,
    },
  ),
  'request.rate_limited': entry(429, 'TOO_MANY_REQUESTS', 'Too many requests. Wait a minute, then try again.', {
    retryable: true,
  }),
  'request.unknown': missing('There is no such call. The document at /api/v1/openapi.json names them all.'),
  'request.not_json': invalid('The body is not JSON. Send JSON, with the content type application/json.'),
  'session.required': entry(401, 'UNAUTHORIZED', 'Sign in to continue.'),
  'session.credentials_wrong': entry(401, 'UNAUTHORIZED', 'Email or password is wrong.'),
  'session.not_fresh': forbidden("Confirm that it's you, then try again."),
  'session.second_factor_required': forbidden('Confirm with a passkey or a code first, then try again.'),
  'session.code_wrong': entry(401, 'UNAUTHORIZED', 'The code is wrong or was already used. Enter a new code.'),
  'session.step_expired': entry(401, 'UNAUTHORIZED', 'That took too long. Sign in again from the start.'),
  'session.passkey_refused': entry(
    401,
    'UNAUTHORIZED',
    'This passkey belongs to no account here. Sign in another way, then add it to your account.',
  ),
  'session.github_off': conflict('Sign-in with GitHub is off. Sign in another way.'),
  'session.github_unknown': entry(
    401,
    'UNAUTHORIZED',
    'No account here is linked to this GitHub account. Sign in another way, then link it to your account.',
  ),
  'session.not_found': missing('This session has already ended.'),
  'permission.denied': forbidden('Your role or API token does not allow this. Ask an owner of the organization.'),

  'setup.already_claimed': conflict('This control plane is already set up. Sign in instead.'),
  'setup.token_invalid': entry(
    403,
    'FORBIDDEN',
    'This setup token was already used or replaced. The next start prints a new one.',
  ),
  'account.email_taken': conflict('There is already an account with this email address.'),

  'account.password_wrong': forbidden('This is not your password.'),
  'account.link_invalid': invalid('This link is used or outdated. Ask for a new one.'),
  'account.mail_not_set_up': conflict(
    'This control plane cannot send email yet. Ask the operator to set mail.smtp_url_file and mail.from.',
  ),
  'account.mail_failed': failed('The mail could not be sent. Try again later; the log of the control plane says why.', {
    retryable: true,
  }),
  'account.passkey_not_found': missing('There is no such passkey.'),
  'account.two_factor_on': conflict('Two-factor sign-in is already on.'),
  'account.two_factor_off': conflict('Two-factor sign-in is not set up. Start setting it up again.'),
  'account.github_taken': conflict(
    'This GitHub account, or yours here, is linked already. Unlink the other one first.',
  ),
  'account.github_not_linked': missing('There is no such link to GitHub.'),
  'token.invalid': entry(
    401,
    'UNAUTHORIZED',
    'This API token is unknown, expired or revoked, or its owner has left. Create a new one in the dashboard.',
  ),
  'token.required': entry(401, 'UNAUTHORIZED', 'Send an API token as “Authorization: Bearer flt_…”.'),
  'token.address_refused': forbidden('This API token may not be used from this address.'),
  'token.person_only': forbidden('Only a signed-in person may do this, not an API token.'),
  'token.beyond_own': forbidden('You cannot give a token or a service account permissions that you lack.'),
  'token.not_found': missing('There is no such API token.'),
  'token.too_many': conflict('The maximum number of tokens is reached. Revoke one that is no longer used.'),
  'service_account.not_found': missing('There is no such service account.'),
  'service_account.name_taken': conflict('There is already a service account with this name. Choose another.'),
  'service_account.confirm_mismatch': invalid('The name typed is not the name of this service account.'),

  'organization.not_found': missing('There is no such organization, or you are not a member of it.'),
  'organization.slug_taken': conflict('This address is taken. Choose another.'),
  'organization.slug_reserved': invalid('The dashboard uses this address itself. Choose another.'),
  'organization.too_many': conflict('You own the maximum number of organizations. Delete one you no longer need.'),
  'organization.confirm_mismatch': invalid('The name typed is not the name of this organization.'),
  'organization.has_local_server': conflict(
    'The server that this control plane runs on belongs to this organization, so it cannot be deleted.',
  ),
  'organization.deletion_pending': conflict('This organization is already scheduled for deletion.'),
  'organization.deletion_not_pending': conflict('This organization is not going to be deleted.'),
  'organization.two_factor_required': forbidden(
    'This organization asks for two-factor sign-in. Set it up in your account, then come back.',
  ),
  'organization.two_factor_yourself': conflict(
    'Set up two-factor sign-in for yourself first: you would lock yourself out.',
  ),

  'member.yourself': conflict("You can't remove yourself. Leave the organization, or transfer it to another owner."),

  'invitation.not_found': missing('There is no such invitation. It may have been accepted or revoked.'),
  'invitation.token_invalid': forbidden('This invitation was used, expired or revoked. Ask for a new one.'),
  'invitation.other_address': forbidden(
    'This invitation is for another email address. Sign in with the address it was sent to.',
  ),
  'invitation.already_member': conflict('This person is already a member.'),
  'invitation.already_invited': conflict('This address already has an invitation. Send that one again.'),
  'invitation.mail_not_set_up': conflict(
    'This control plane cannot send email yet. Invite by a link, or set mail.smtp_url_file and mail.from.',
  ),
  'invitation.too_many': entry(
    429,
    'TOO_MANY_REQUESTS',
    'Too many invitations for now. Wait an hour, then try again.',
    { retryable: true },
  ),
  'invitation.too_soon': entry(429, 'TOO_MANY_REQUESTS', 'It was sent a moment ago. Wait a minute, then try again.', {
    retryable: true,
  }),

  'control_plane.operator_only': forbidden(
    'Only owners of the organization that was set up first may do this: they operate this control plane.',
  ),
  'control_plane.mail_not_set_up': conflict(
    'This control plane has no mail server. Set mail.smtp_url_file and mail.from, then restart it.',
  ),
  'control_plane.backup_not_set_up': conflict(
    'This control plane has no folder for backups. Set backup.folder in the settings file, then restart it.',
  ),
  'control_plane.backup_running': conflict('A backup is already being made. Wait until it is done.'),
  'control_plane.update_unavailable': conflict(
    'This control plane cannot be updated from here. Update it with the command that this page shows.',
  ),
  'control_plane.update_other_version': conflict(
    'This is not the newest version, or it is already installed. Reload the page.',
  ),
  'control_plane.update_running': conflict('An update is already running. Wait until it is done.'),
  'control_plane.feed_not_set_up': conflict(
    'This control plane does not check for updates. Set updates.feed in the settings file, then restart it.',
  ),
  'control_plane.domain_unavailable': conflict(
    "The dashboard is reachable from its own machine only, so it can't have a domain. Set public_url in the settings file, then restart the control plane.",
  ),
  'control_plane.domain_in_use': conflict(
    'This domain is in use: an app has it, another organization has it, or the dashboard has it already. Choose another, or remove it there first.',
  ),
  'control_plane.domain_not_found': missing('The dashboard has no such domain.'),
  'control_plane.domain_too_many': conflict('The dashboard has the maximum number of domains. Remove one first.'),
  'control_plane.job_not_failed': conflict('This job no longer waits for a retry. It may be running or finished.'),

  'environment.not_found': missing('There is no such environment.'),
  'project.not_found': missing('There is no such project.'),

  'role.not_found': missing('There is no such role. It may have been deleted.'),
  'role.name_taken': conflict('There is already a role with this name. Choose another.'),
  'role.in_use': conflict('A member still has this role. Give them another one first.'),
  'role.beyond_own': forbidden('You can only give and take permissions that you hold yourself. Ask an owner.'),
  'role.owner_only': forbidden('Only an owner can make an owner or end the role of one.'),
  'grant.not_found': missing('There is no such grant. It may have been revoked.'),
  'grant.exists': conflict('This member already has this role there.'),
  'member.not_found': missing('There is no such member. They may have left.'),
  'member.last_owner': conflict('An organization needs an owner. Make another member an owner first.'),
} as const satisfies Record<string, ErrorEntry>;
