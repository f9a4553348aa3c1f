// Errors of GitHub Apps, installations and repositories. Part of errors.ts, by its rules.
import { conflict, failed, forbidden, invalid, missing } from './entry.ts';

export const githubErrors = {
  'github.base_url_invalid': invalid(
    'Enter the address of your GitHub Enterprise Server without a path, such as https://github.example.com.',
  ),
  'github.address_refused': forbidden(
    'This address is private. The operator of this control plane can allow it with the setting outbound_allow.',
  ),
  'github.person_only': forbidden('A person connects GitHub in the dashboard. API tokens of service accounts cannot.'),
  'github.state_invalid': invalid(
    'This link from GitHub was used before, is older than an hour, or was started by another person. Start again.',
  ),
  'github.code_refused': invalid(
    'GitHub rejected the code in this link: it was used before or has expired. Start again.',
  ),
  'github.app_not_found': missing('This GitHub App is not connected to your organization. It may have been removed.'),
  'github.app_taken': conflict('This GitHub App is already connected.'),
  'github.installation_not_found': missing('This installation is not connected to your organization.'),
  'github.installation_foreign': forbidden(
    'GitHub does not show this installation to you. Install the app with an account that you manage.',
  ),
  'github.repository_not_found': missing(
    'The GitHub App does not reach this repository. Give it access on GitHub, then try again.',
  ),
  'github.installation_gone': conflict(
    'The GitHub App is suspended or uninstalled, so the repository cannot be read. Install it again under Settings → Git.',
  ),
  'github.repository_lost': conflict(
    'The GitHub App no longer reaches the repository of this app. Give it access on GitHub, then refresh Settings → Git.',
  ),
  'github.account_not_linked': forbidden(
    'Your GitHub account is linked to no member here. Link it on the account page of Fairlead, then try again.',
  ),
  'github.factor_unproven': forbidden(
    'This organization requires a second factor, which GitHub cannot prove. Do this in the dashboard.',
  ),
  'github.confirmation_unproven': forbidden(
    'This needs you to confirm who you are, which GitHub cannot prove. Do this in the dashboard.',
  ),
  'github.not_live': conflict(
    'Another release is live now, so there is nothing to roll back here. Choose a release in the dashboard.',
  ),
  'github.nothing_before': conflict('There is no earlier release to roll back to.'),
  'github.in_use': conflict('Apps are built from repositories of this GitHub App. Change their source first.'),
  'github.unauthorized': failed(
    'GitHub no longer accepts the key of this GitHub App. It was probably deleted on GitHub: remove it here and connect again.',
  ),
  'github.forbidden': failed(
    'GitHub rejected the request. Open the installation at GitHub: resume it if it is suspended, or accept the permissions it asks for.',
  ),
  'github.rate_limited': failed('GitHub limits the rate of requests. Try again in a few minutes.', { retryable: true }),
  'github.unreachable': failed(
    'GitHub did not answer. Try again. If it still fails, check the server URL and the network.',
    {
      retryable: true,
    },
  ),
} as const;
