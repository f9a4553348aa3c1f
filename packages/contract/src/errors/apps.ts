// Errors of apps, sources, releases, deployments, environments, volumes, logs, domains and secrets. Part of
// errors.ts, by its rules.
import { conflict, type ErrorEntry, entry, failed, forbidden, invalid, missing } from './entry.ts';

export const appErrors = {
  'approval.in_review': conflict(
    "The source and start command can't change while a deployment that needs approval is not built yet. Wait for it, or cancel it first.",
  ),
  'approval.not_pending': conflict('This deployment no longer waits for approval. Reload the page.'),
  'approval.own': forbidden('You asked for this deployment yourself. Another member has to approve it.'),

  'app.not_found': missing('There is no such app. It may have been deleted.'),
  'app.not_deleted': missing(
    'This app is not among the recently deleted ones. It was restored or deleted permanently.',
  ),
  'app.name_taken': conflict(
    'There is already an app with this name. Choose another. An app under “Recently deleted” keeps its name.',
  ),
  'app.confirm_mismatch': invalid('The name typed is not the name of this app.'),
  'app.not_live': conflict('This app has no live release yet. Deploy it first.'),
  'app.releases_differ': conflict(
    'The servers of this app serve different releases. Roll back to one of them, or deploy, then restart.',
  ),

  'preview.not_found': missing('There is no such preview. It may have been removed.'),
  'preview.no_repository': conflict(
    'Previews come from pull requests, and this app is not linked to a repository of a GitHub App. Link it first.',
  ),
  'preview.environment_unfit': conflict(
    'Previews can’t use the primary or a protected environment of the app. Choose another, or let Fairlead create one.',
  ),
  'preview.not_waiting': conflict('This pull request does not wait for approval.'),
  'preview.head_moved': conflict(
    'The pull request has a newer commit than the one that you approved. Look at it, then approve it.',
  ),
  'preview.inherited': conflict(
    'A preview follows its pull request, with the settings and secrets of the environment that the app’s previews use. Push to the pull request, or change them there.',
  ),

  'source.unreachable': failed('The git server did not answer. Check the address, and that it can be reached.', {
    retryable: true,
  }),
  'source.address_refused': forbidden(
    'This address is private. The operator of this control plane can allow it with the setting outbound_allow.',
  ),
  'source.closed': missing('There is no repository at this address, or it is not public.'),
  'source.not_a_repository': invalid('There is no git repository at this address. Check the address.'),

  'delivery.not_found': missing('There is no such delivery. Deliveries are kept for 30 days.'),
  'delivery.not_processed': conflict('This delivery is not processed yet, or it belongs to another app.'),
  'webhook.not_found': missing('There is no such webhook. It may have been deleted.'),
  'webhook.name_taken': conflict('This app already has a webhook with this name. Choose another.'),
  'webhook.too_many': conflict('This app has the maximum number of webhooks. Delete one first.'),

  'release.not_found': missing('There is no such release.'),
  'release.already_live': conflict('This release is already live.'),

  'deployment.not_found': missing('There is no such deployment.'),
  'deployment.already_finished': conflict('This deployment has already finished.'),
  'deployment.under_way': conflict(
    'A deployment of this app waits or is under way, and brings new instances when it goes live. Wait for it, or cancel it first.',
  ),
  'deployment.build_overdue': failed(
    'The build did not finish in time. Check that the server is connected, then redeploy.',
    { retryable: true },
  ),
  'deployment.rollout_overdue': failed(
    'The rollout did not finish in time. Check that the server is connected, then redeploy.',
    { retryable: true },
  ),
  'deployment.check_failed': failed(
    'A check that this environment waits for did not pass. Push a commit that passes it.',
  ),
  'deployment.checks_overdue': failed(
    'The checks that this environment waits for did not finish in time. Redeploy to deploy without them.',
    { retryable: true },
  ),
  'deployment.server_offline': failed(
    'The server was not connected, so the deployment could not continue. Start its agent, then redeploy.',
    { retryable: true },
  ),
  'deployment.artifact_elsewhere': conflict(
    'The artifact of this release is on another server. Redeploy its commit to build it on this one.',
  ),
  'deployment.no_source': conflict(
    'This app has no repository and no image. Upload a folder, or name a repository in its settings, then deploy.',
  ),
  'deployment.server_lost': failed(
    'A server did not finish its part in time, so the deployment was rolled back. Check that it is connected, then deploy again.',
    { retryable: true },
  ),
  'deployment.server_failed': failed('A server could not run the new release, so the deployment was rolled back.'),
  'deployment.capability_missing': conflict(
    'The agent of a server lacks something that the settings of this app need. Upgrade it, then deploy again.',
  ),
  'deployment.socket_in_container': conflict(
    'A container can’t listen on a Unix socket. Let the app listen on a port, or choose the builder “Language buildpack”.',
  ),
  'deployment.network_closed': conflict(
    'Private network access or server ports of the app were closed while this deployment waited, and its release opens more than the settings do now. Deploy again.',
  ),
  'deployment.not_retryable': conflict('Only a deployment that failed or was cancelled can be tried again.'),
  'deployment.interrupted': failed('The deployment was interrupted. Redeploy to start it again.', { retryable: true }),

  'release.other_environment': conflict(
    "This release runs in another environment. Promote it to deploy it here with this environment's settings and secrets.",
  ),
  'release.same_environment': conflict('This release already belongs to this environment. Roll back to it instead.'),
  'config.version_not_found': missing(
    'There is no such version of the settings. Reload the list of versions and choose another.',
  ),
  'config.changed_meanwhile': conflict(
    'The settings or what can be restored changed in the meantime. Close the dialog, review the changes, then restore again.',
  ),
  'config.image_missing': invalid('Name the image that should run.'),
  'config.socket_in_container': invalid(
    'A container is reached by its port. Let the app listen on a port, or choose another builder.',
  ),
  'config.network_closed': forbidden(
    'You need the permission “Change servers” to change private network access or server ports. Ask an owner or admin.',
  ),
  'release.network_closed': forbidden(
    'This release allows more network access than the settings. You need the permission “Change servers” to roll it out. Ask an owner or admin, or deploy its commit again.',
  ),
  'placement.network_closed': forbidden(
    'The app has private network access or server ports, so you need the permission “Change servers” to add a server. Ask an owner or admin.',
  ),
  'config.capability_missing': conflict('The agent of the server lacks what these settings need. Upgrade it first.'),
  'environment.name_taken': conflict('There is already an environment with this name in the project. Choose another.'),
  'environment.confirm_mismatch': invalid('The name typed is not the name of this environment.'),
  'environment.in_use': conflict(
    "Apps still run in this environment. First remove each app from it in the app's settings. An app under “Recently deleted” counts until it is deleted permanently.",
  ),
  'environment.protected': forbidden(
    'This environment is protected. Ask a member who may approve its deployments to make this change.',
  ),
  'environment.hosts_shared': conflict(
    'Some host names of this environment also lead to another one, and a protected environment cannot share a host name with one that is not. Detach their domains on one side first.',
  ),
  'environment.first': conflict("This is the project's first environment, so it can't be deleted."),
  'project.name_taken': conflict('There is already a project with this name. Choose another.'),
  'project.confirm_mismatch': invalid('The name typed is not the name of this project.'),
  'project.not_empty': conflict(
    'The project still has apps or shared secret groups. Move its apps to another project or delete them, and delete its groups first. An app under “Recently deleted” counts too: delete it there permanently, or restore and move it.',
  ),
  'project.only': conflict('An organization keeps at least one project. Create another one first, or rename this one.'),
  'project.too_many': conflict('The organization has the maximum number of projects. Delete one you no longer need.'),
  'app.in_project': conflict('The app is already in this project.'),
  'app.move_incomplete': invalid(
    'Choose an environment of the other project for each environment of the app, and a different one for each.',
  ),
  'app.move_previews': conflict(
    'This app has previews, which stay in its project. Switch them off first, then move the app.',
  ),
  'app.move_under_way': conflict(
    'A deployment of the app is waiting or under way. Wait for it or cancel it, then move the app.',
  ),
  'app.move_groups': conflict(
    'The app uses secret groups that belong to its project. Detach them on its page “Environment variables”, then move it.',
  ),
  'app.move_volumes': conflict(
    'The app has volumes, and their data stays with their environment. Remove them from its settings, deploy, and delete them. Then move the app.',
  ),
  'app.move_hosts': conflict('Another app also uses a host name of this app. Detach the domains of one app first.'),
  'app.move_beyond_own': forbidden(
    'The move would give you permissions on the app that you lack now. Ask a member who has them in both projects.',
  ),
  'placement.primary': conflict('This is the primary environment of the app. Delete the app instead.'),
  'placement.already': conflict('The app is already on this server.'),
  'placement.exists': conflict('The app already runs in this environment. Add a server there instead.'),
  'placement.not_there': missing(
    'The app does not run in this environment yet. Add it to the environment in the settings of the app first.',
  ),
  'placement.missing': missing('The app is not on this server.'),
  'placement.last': conflict('This is the only server of the app. Attach another one first, or delete the app.'),
  'placement.not_live': conflict('The app has no live release on this server yet. Deploy it there first.'),
  'placement.under_way': conflict('A deployment is under way. Wait for it or cancel it first.'),
  'volume.not_found': missing('There is no such volume.'),
  'volume.confirm_mismatch': invalid('The name typed is not the name of this volume.'),
  'volume.in_use': conflict(
    'The settings or the live release of the app still use this volume. Remove it from the settings and deploy first.',
  ),
  'volume.deletion_pending': conflict('This volume is already scheduled for deletion.'),
  'volume.deletion_not_pending': conflict('This volume is not going to be deleted, or it is too late to keep it.'),
  'credential.host_missing': invalid('Name the host that this password is for.'),
  'credential.other_host': conflict(
    'The password of the source was entered for another host, so it was not sent. Check the address of the source, then enter the password of its host, or remove it.',
  ),
  'credential.not_found': missing('There is no such credential.'),
  'artifact.not_found': missing('There is no such artifact in the store.'),
  'artifact.digest_wrong': invalid("The upload doesn't match its digest. Upload it again."),
  'artifact.no_room': entry(
    413,
    'PAYLOAD_TOO_LARGE',
    'There is no room for this upload: the organization has reached its storage limit, or the disk of the control plane is nearly full. Fairlead removes artifacts a day after they are no longer needed.',
  ),
  'artifact.incomplete': invalid('The upload is incomplete. Upload it again.'),
  'artifact.upload_invalid': invalid('Send the folder as a tar.gz, with its length and its sha256 digest.'),
  'log.unavailable': conflict('The server of this app is not connected, so its logs cannot be read now.'),
  'inspect.unsupported': conflict('The agent of this server cannot inspect a repository. Upgrade it.'),
  'log.unsupported': conflict('The agent of this server cannot search its logs. Upgrade it.'),
  'log.query_invalid': invalid('This is not a regular expression that the server can search for.'),

  'certificate.chain_incomplete': invalid(
    'The chain is incomplete: it does not end at a public root. Add the intermediate certificates, and the root of a private authority.',
  ),
  'certificate.chain_invalid': invalid(
    'The chain has no readable certificate. Paste PEM text that begins with -----BEGIN CERTIFICATE-----.',
  ),
  'certificate.chain_too_long': invalid('A chain has at most 10 certificates.'),
  'certificate.chain_unrelated': invalid('Some of these certificates are not part of the chain. Remove them.'),
  'certificate.expired': invalid('A certificate of this chain has expired. Upload a renewed one.'),
  'certificate.key_encrypted': invalid(
    'This private key is encrypted, so servers cannot use it. Decrypt it with "openssl pkey -in key.pem -out plain.pem", then upload plain.pem.',
  ),
  'certificate.key_in_chain': invalid('The chain holds a private key. Paste it as the private key instead.'),
  'certificate.key_invalid': invalid(
    'The private key cannot be read. Paste PEM text that begins with -----BEGIN PRIVATE KEY-----.',
  ),
  'certificate.key_mismatch': invalid('The private key belongs to none of these certificates.'),
  'certificate.key_unsupported': invalid(
    'The private key is too weak, or its type is not supported. Use RSA with 2048 to 8192 bits, ECDSA on P-256 or P-384, or Ed25519.',
  ),
  'certificate.missing': missing('There is no such certificate.'),
  'certificate.names_invalid': invalid(
    'The certificate has no usable host names. Visitors need them as subject alternative names (DNS).',
  ),
  'certificate.names_not_covered': invalid(
    'The certificate covers none of your public domains. Attach the domain to an app first, or check the names in the certificate.',
  ),
  'certificate.not_for_servers': invalid('The certificate is not meant for servers (extended key usage).'),
  'certificate.not_yet_valid': invalid('A certificate of this chain is not valid yet.'),
  'certificate.not_found': missing(
    'Fairlead has not ordered a certificate for this name yet. Wait a few seconds, then try again.',
  ),
  'certificate.too_many': conflict('An organization has at most 200 uploaded certificates. Delete one first.'),
  'certificate.too_soon': conflict(
    'The last order failed a moment ago, or the authority limits further ones. The page shows the time of the next.',
  ),
  'domain.authorities_invalid': invalid(
    'These are not valid CA certificates. Paste the PEM of each authority that issues client certificates.',
  ),
  'dns_provider.not_found': missing('There is no such DNS provider.'),
  'dns_provider.zone_taken': conflict(
    'Another DNS provider of this organization has one of these zones. Remove the zone there first.',
  ),
  'dns_provider.other_kind': invalid('These credentials are for another provider. Add that one instead.'),
  'dns_provider.in_use': conflict('A certificate is being ordered with this provider. Try again in a minute.'),
  'domain.not_found': missing('There is no such domain.'),
  'domain.redirects_to_itself': invalid('A host can’t redirect to itself. Choose another target.'),
  'domain.automatic': conflict(
    'This name comes from the base domain of the server. Change the base domain on the server’s page instead.',
  ),
  'domain.base_taken': conflict('Another server has this base domain. Choose a different one for each server.'),
  'domain.not_public': conflict('This name resolves to the local machine, so it has no DNS records to check.'),
  'domain.not_proven': conflict(
    'This name is not verified, so there is nothing to release or transfer. Verify it with its TXT record first.',
  ),
  'domain.transfer_invalid': conflict(
    'This transfer code is not valid for the name: it was used or replaced, or it has expired. Ask for a new one.',
  ),
  'domain.reserved': conflict(
    'This host name belongs to the control plane: an app there could pose as the dashboard. Choose another.',
  ),
  'domain.was_dashboard': conflict(
    'This host name was a domain of the dashboard in the last 30 days, so browsers may still send session cookies there. Choose another, or wait.',
  ),
  'domain.deployment_name': conflict(
    'Names that end in two dashes and a number before the first dot belong to deployment URLs. Choose another.',
  ),
  'domain.password_missing': invalid('A name on the list has no password yet. Enter one for each new name.'),
  'domain.capability_missing': conflict(
    'The agent of a server of this domain lacks what this policy needs. Upgrade it first.',
  ),
  'domain.taken': conflict(
    'This host name or path is already in use. An app under “Recently deleted” keeps its host names.',
  ),
  'domain.elsewhere': conflict(
    'This host name already points to other servers. All its paths must belong to apps on the same servers.',
  ),
  'domain.protection_differs': conflict(
    'A protected environment cannot share a host name with one that is not protected, and this one already leads there. Choose another host name, or detach its other domains first.',
  ),

  'variable.not_found': missing('The environment has no such variable. It may have been deleted.'),
  'variable.is_secret': conflict('A secret has this name. Change the secret, or delete it first.'),
  'variable.too_many': conflict('An app has at most 200 plain variables. Use secrets or a file for the others.'),

  'secret.not_found': missing('There is no such secret. It may have been deleted.'),
  'secret.version_not_found': missing('This secret has no such version.'),
  'secret.group_not_found': missing('There is no such group of secrets.'),
  'secret.group_name_taken': conflict('There is already a group of secrets with this name. Choose another.'),
  'secret.group_in_use': conflict(
    'Apps still use this group of secrets. Detach it from them first. An app under “Recently deleted” counts until it is deleted permanently.',
  ),
  'secret.sealed': forbidden('This value is sealed: it can be used and replaced, but never shown.'),
  'secret.too_many': conflict('There are more secrets here than an app may have. Delete some first.'),
  'secret.undecryptable': failed(
    'A secret could not be decrypted. Its key is missing or the stored value was changed: restore the master key from the backup of this control plane.',
  ),
  'secret.unresolved': conflict(
    'The secrets of this app do not fit together. Its page “Environment variables” names what is wrong; correct it, then deploy again.',
  ),
  'secret.server_cannot_open': conflict(
    'The server of this app has no key that secrets can be sealed to. Upgrade its agent and let it connect, then deploy again.',
  ),
} as const satisfies Record<string, ErrorEntry>;
