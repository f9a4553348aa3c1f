// The one table of error codes: what each becomes on HTTP, tRPC and the link, and the sentence a user reads.
// Codes only grow. A message must never carry secrets or another organization's data: it is shown as it stands.

/** WebSocket close codes (RFC 6455, section 7.4.1, and the IANA registry). */
type CloseCode = 1008 | 1009 | 1011 | 1012;

type TrpcCode =
  | 'BAD_REQUEST'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'PAYLOAD_TOO_LARGE'
  | 'TOO_MANY_REQUESTS'
  | 'INTERNAL_SERVER_ERROR';

export interface ErrorEntry {
  readonly http: 400 | 401 | 403 | 404 | 409 | 413 | 429 | 500;
  readonly trpc: TrpcCode;
  /** Set when the code may end a link: the close code of its WebSocket. */
  readonly link?: CloseCode;
  /** Whether the same request may succeed later without anybody changing anything. */
  readonly retryable: boolean;
  /** What happened and what to do, in whole sentences. */
  readonly message: string;
}

type Options = Pick<Partial<ErrorEntry>, 'link' | 'retryable'>;

function entry(http: ErrorEntry['http'], trpc: TrpcCode, message: string, options: Options = {}): ErrorEntry {
  return { http, trpc, message, retryable: false, ...options };
}
const invalid = (message: string) => entry(400, 'BAD_REQUEST', message);
const missing = (message: string) => entry(404, 'NOT_FOUND', message);
const forbidden = (message: string) => entry(403, 'FORBIDDEN', message);
const conflict = (message: string) => entry(409, 'CONFLICT', message);
const refused = (message: string, link: CloseCode = 1008) => entry(400, 'BAD_REQUEST', message, { link });
const failed = (message: string, options: Options = {}) => entry(500, 'INTERNAL_SERVER_ERROR', message, options);

const table = {
  'internal.unexpected': failed('Something went wrong on our side. Try again; if it stays, quote the error id.', {
    retryable: true,
  }),
  'request.too_large': entry(413, 'PAYLOAD_TOO_LARGE', 'This is too much for one request. Send less at once.'),
  'input.invalid': invalid('Some fields are not as they should be. Correct the marked ones.'),
  'request.too_many': entry(429, 'TOO_MANY_REQUESTS', 'Too many attempts. Wait a quarter of an hour, then try again.', {
    retryable: true,
  }),
  'request.rate_limited': entry(429, 'TOO_MANY_REQUESTS', 'That is a lot of requests. Wait a minute, then go on.', {
    retryable: true,
  }),
  'request.unknown': missing('There is no such call. The document at /api/v1/openapi.json names them all.'),
  'request.not_json': invalid('The body is not JSON. Send JSON, with the content type application/json.'),
  'session.required': entry(401, 'UNAUTHORIZED', 'Sign in to go on.'),
  'session.credentials_wrong': entry(401, 'UNAUTHORIZED', 'E-mail or password is wrong.'),
  'session.not_fresh': forbidden("Confirm that it's you, then try again."),
  'session.code_wrong': entry(401, 'UNAUTHORIZED', 'The code is wrong or was used already. Wait for the next one.'),
  'session.step_expired': entry(401, 'UNAUTHORIZED', 'That took too long. Sign in again from the start.'),
  'session.passkey_refused': entry(
    401,
    'UNAUTHORIZED',
    'This passkey opens no account here. Sign in another way, then add it to your account.',
  ),
  'session.not_found': missing('This session has already ended.'),
  'permission.denied': forbidden('Your role does not allow this. Ask an owner of the organization.'),

  'setup.already_claimed': conflict('This control plane is already set up. Sign in instead.'),
  'setup.token_invalid': entry(
    403,
    'FORBIDDEN',
    'This setup link is used or outdated. The next start prints a new one.',
  ),
  'account.email_taken': conflict('There is already an account with this e-mail address.'),

  'account.password_wrong': forbidden('This is not your password.'),
  'account.link_invalid': invalid('This link is used or outdated. Ask for a new one.'),
  'account.mail_not_set_up': conflict(
    'This control plane cannot send mail yet. Whoever runs it sets FAIRLEAD_SMTP_URL and FAIRLEAD_MAIL_FROM.',
  ),
  'account.mail_failed': failed('The mail could not be sent. Try again later; the log of the control plane says why.', {
    retryable: true,
  }),
  'account.passkey_not_found': missing('There is no such passkey.'),
  'account.two_factor_on': conflict('Two-factor sign-in is already on.'),
  'account.two_factor_off': conflict('Two-factor sign-in is not set up. Start setting it up again.'),
  'token.invalid': entry(
    401,
    'UNAUTHORIZED',
    'This API token is unknown, expired or revoked, or its owner has left. Make a new one in the dashboard.',
  ),
  'token.required': entry(401, 'UNAUTHORIZED', 'Send an API token as “Authorization: Bearer flt_…”.'),
  'token.address_refused': forbidden('This API token may not be used from this address.'),
  'token.person_only': forbidden('Only a person who is signed in may do this, no API token.'),
  'token.beyond_own': forbidden('You cannot give a token or a service account more than you may do yourself.'),
  'token.not_found': missing('There is no such API token.'),
  'token.too_many': conflict('There are as many tokens as there may be. Revoke one that is no longer used.'),
  'service_account.not_found': missing('There is no such service account.'),
  'service_account.name_taken': conflict('There is already a service account with this name. Choose another.'),
  'service_account.confirm_mismatch': invalid('The name typed is not the name of this service account.'),

  'organization.not_found': missing('There is no such organization, or you are not a member of it.'),
  'organization.slug_taken': conflict('This address is taken. Choose another.'),
  'organization.slug_reserved': invalid('The dashboard uses this address itself. Choose another.'),
  'organization.too_many': conflict('You own as many organizations as one person may. Delete one you no longer need.'),
  'organization.confirm_mismatch': invalid('The name typed is not the name of this organization.'),
  'organization.has_local_server': conflict(
    'The server that this control plane runs on belongs to this organization, so it cannot be deleted.',
  ),
  'organization.deletion_pending': conflict('This organization is going to be deleted already.'),
  'organization.deletion_not_pending': conflict('This organization is not going to be deleted.'),
  'organization.two_factor_required': forbidden(
    'This organization asks for two-factor sign-in. Set it up in your account, then come back.',
  ),
  'organization.two_factor_yourself': conflict(
    'Set up two-factor sign-in for yourself first: you would lock yourself out.',
  ),

  'member.yourself': conflict('This is you. To go, leave the organization; to hand it over, transfer it.'),

  'invitation.not_found': missing('There is no such invitation. It may have been accepted or taken back.'),
  'invitation.token_invalid': forbidden(
    'This invitation was used, has expired or was taken back. Ask whoever invited you for a new one.',
  ),
  'invitation.other_address': forbidden(
    'This invitation is for another e-mail address. Sign in with the address it was sent to.',
  ),
  'invitation.already_member': conflict('This person is a member already.'),
  'invitation.already_invited': conflict('This address has an invitation already. Send that one again.'),
  'invitation.mail_not_set_up': conflict(
    'This control plane cannot send mail yet. Invite by a link, or set FAIRLEAD_SMTP_URL and FAIRLEAD_MAIL_FROM.',
  ),
  'invitation.too_many': entry(
    429,
    'TOO_MANY_REQUESTS',
    'That is a lot of invitations for now. Wait an hour, then go on.',
    { retryable: true },
  ),
  'invitation.too_soon': entry(429, 'TOO_MANY_REQUESTS', 'It was sent a moment ago. Wait a minute, then try again.', {
    retryable: true,
  }),

  'environment.not_found': missing('There is no such environment.'),
  'project.not_found': missing('There is no such project.'),

  'role.not_found': missing('There is no such role. It may have been deleted.'),
  'role.name_taken': conflict('There is already a role with this name. Choose another.'),
  'role.in_use': conflict('Somebody still holds this role. Give them another one first.'),
  'role.beyond_own': forbidden('You can only give and take permissions that you hold yourself. Ask an owner.'),
  'role.owner_only': forbidden('Only an owner can make an owner or end the role of one.'),
  'grant.not_found': missing('There is no such grant. It may have been taken back.'),
  'grant.exists': conflict('This member holds this role there already.'),
  'member.not_found': missing('There is no such member. They may have left.'),
  'member.last_owner': conflict('An organization needs an owner. Make somebody else an owner first.'),

  'approval.in_review': conflict(
    'A deployment that another member approves is not built yet, and it must be what they see. Wait for it, or cancel it first.',
  ),
  'approval.not_pending': conflict('This deployment waits for approval no longer.'),
  'approval.own': forbidden('You asked for this deployment yourself. Another member has to approve it.'),

  'app.not_found': missing('There is no such app. It may have been deleted.'),
  'app.name_taken': conflict('There is already an app with this name. Choose another.'),
  'app.confirm_mismatch': invalid('The name typed is not the name of this app.'),
  'app.not_live': conflict('This app has no live release yet. Deploy it first.'),
  'app.releases_differ': conflict(
    'The servers of this app serve different releases. Roll back to one of them, or deploy, then restart.',
  ),

  'source.unreachable': failed('The git server did not answer. Check the address, and that it can be reached.', {
    retryable: true,
  }),
  'source.address_refused': forbidden(
    'This address is not on the internet. Whoever runs this control plane can open it with FAIRLEAD_OUTBOUND_ALLOW.',
  ),
  'source.closed': missing('There is no repository at this address, or it is not public.'),
  'source.not_a_repository': invalid('What answers at this address is not a git repository.'),

  'release.not_found': missing('There is no such release.'),
  'release.already_live': conflict('This release is live already.'),

  'deployment.not_found': missing('There is no such deployment.'),
  'deployment.already_finished': conflict('This deployment has already finished.'),
  'deployment.under_way': conflict(
    'A deployment of this app waits or is under way. It brings new instances when it goes live.',
  ),
  'deployment.build_overdue': failed(
    'The build did not finish in time. Check that the server is connected, then redeploy.',
    { retryable: true },
  ),
  'deployment.rollout_overdue': failed(
    'The roll-out did not finish in time. Check that the server is connected, then redeploy.',
    { retryable: true },
  ),
  'deployment.server_offline': failed(
    'The server was not connected, so the deployment could not go on. Start its agent, then redeploy.',
    { retryable: true },
  ),
  'deployment.artifact_elsewhere': conflict(
    'The artifact of this release is on another server. Redeploy its commit to build it on this one.',
  ),
  'deployment.no_source': conflict(
    'This app has no repository and no image. Upload a folder, or name a repository in its settings, then deploy.',
  ),
  'deployment.server_lost': failed(
    'A server did not finish its part in time, so the deployment was taken back. Check that it is connected, then deploy again.',
    { retryable: true },
  ),
  'deployment.server_failed': failed('A server could not run the new release, so the deployment was taken back.'),
  'deployment.capability_missing': conflict(
    'The agent of a server lacks something that the settings of this app need. Upgrade it, then deploy again.',
  ),
  'deployment.socket_in_container': conflict(
    'The app is set to listen on a Unix socket, and a container is reached by its port. Let it listen on a port, or choose the native builder.',
  ),
  'deployment.not_retryable': conflict('Only a deployment that failed or was cancelled can be tried again.'),
  'deployment.interrupted': failed('The deployment was interrupted. Redeploy to start it again.', { retryable: true }),

  'release.other_environment': conflict(
    'This release runs in another environment. Promote it to take it along with the settings and secrets of this one.',
  ),
  'release.same_environment': conflict('This release belongs to this environment already. Roll back to it instead.'),
  'config.image_missing': invalid('Name the image that should run.'),
  'config.socket_in_container': invalid(
    'A container is reached by its port. Let the app listen on a port, or choose another builder.',
  ),
  'config.capability_missing': conflict('The agent of the server lacks what these settings need. Upgrade it first.'),
  'environment.name_taken': conflict('There is already an environment with this name in the project. Choose another.'),
  'environment.confirm_mismatch': invalid('The name typed is not the name of this environment.'),
  'environment.in_use': conflict(
    'Apps still run in this environment. Take each of them out of it in its Settings first.',
  ),
  'environment.first': conflict('A project begins with this environment, and it stays as long as the project does.'),
  'placement.home': conflict('The app was made in this environment. Delete the app instead.'),
  'placement.already': conflict('The app is on this server already.'),
  'placement.missing': missing('The app is not on this server.'),
  'placement.last': conflict('This is the only server of the app. Attach another one first, or delete the app.'),
  'placement.under_way': conflict('A deployment is under way. Wait for it or cancel it first.'),
  'volume.not_found': missing('There is no such volume.'),
  'volume.confirm_mismatch': invalid('The name typed is not the name of this volume.'),
  'volume.in_use': conflict(
    'The settings or the live release of the app still name this volume. Take it out and deploy first.',
  ),
  'volume.deletion_pending': conflict('This volume is going to be deleted already.'),
  'volume.deletion_not_pending': conflict('This volume is not going to be deleted, or it is too late to keep it.'),
  'credential.not_found': missing('There is no such credential.'),
  'artifact.not_found': missing('There is no such artifact in the store.'),
  'artifact.digest_wrong': invalid('What was sent is not what its digest says. Send it again.'),
  'artifact.incomplete': invalid('Less arrived than was announced. Send it again.'),
  'artifact.upload_invalid': invalid('Send the folder as a tar.gz, with its length and its sha256 digest.'),
  'log.unavailable': conflict('The server of this app is not connected, so its logs cannot be read now.'),
  'log.unsupported': conflict('The agent of this server cannot search its logs. Upgrade it.'),
  'log.query_invalid': invalid('This is not a regular expression that the server can search for.'),

  'domain.not_found': missing('There is no such domain.'),
  'domain.reserved': conflict(
    'This host name belongs to the control plane: an app there could pose as the dashboard. Choose another.',
  ),
  'domain.password_missing': invalid('Somebody on the list has no password yet. Enter one for each new name.'),
  'domain.taken': conflict('This host name is already in use.'),
  'domain.elsewhere': conflict(
    'This host name leads to other servers. Its paths can lead only to apps on exactly the same ones.',
  ),

  'secret.not_found': missing('There is no such secret. It may have been deleted.'),
  'secret.version_not_found': missing('This secret has no such version.'),
  'secret.group_not_found': missing('There is no such group of secrets.'),
  'secret.group_name_taken': conflict('There is already a group of secrets with this name. Choose another.'),
  'secret.group_in_use': conflict('Apps still use this group of secrets. Detach it from them first.'),
  'secret.sealed': forbidden('This value is sealed: it can be used and replaced, but never shown.'),
  'secret.too_many': conflict('There are more secrets here than an app may have. Delete some first.'),
  'secret.undecryptable': failed(
    'A secret could not be decrypted. Its key is missing or the stored value was changed: restore the master key from the backup of this control plane.',
  ),
  'secret.unresolved': conflict(
    'The secrets of this app do not fit together. Its Secrets page names what is wrong; correct it, then deploy again.',
  ),
  'secret.server_cannot_open': conflict(
    'The server of this app has no key that secrets can be sealed to. Upgrade its agent and let it connect, then deploy again.',
  ),

  'server.not_found': missing('There is no such server.'),
  'server.name_taken': conflict('There is already a server with this name. Choose another.'),
  'server.confirm_mismatch': invalid('The name typed is not the name of this server.'),
  'server.in_use': conflict('Apps still live on this server. Delete or move them first.'),
  'server.is_local': conflict('The local server belongs to this control plane and cannot be deleted.'),
  'server.proxy_is_control': conflict(
    'The dashboard is reached through the proxy of the local server. With the PROXY protocol it would close the connections of everybody who comes directly.',
  ),
  'server.not_connected': conflict('The server is not connected. Start its agent, then try again.'),
  'server.upgrade_unsupported': conflict(
    'The agent of this server is too old to be upgraded from here. Run the install command of a new server on it once; its apps keep running.',
  ),
  'server.upgrade_under_way': conflict('The agent of this server is being upgraded already. Wait for it to end.'),
  'server.upgrade_current': conflict('This server runs the agent that this control plane offers already.'),
  'server.upgrade_none': conflict(
    'This control plane has no agent for this kind of machine. Build one there and set FAIRLEAD_AGENT_BINARY.',
  ),
  'enrolment.not_found': missing('There is no such enrolment.'),

  'benchmark.not_found': missing('There is no such benchmark run.'),
  'benchmark.already_running': conflict('A benchmark is already running on this server. Wait for it or cancel it.'),
  'benchmark.already_finished': conflict('This benchmark run has already finished.'),
  'benchmark.timeout': failed(
    'The server did not finish this benchmark in time. Check that it is connected, then start a new run.',
    {
      retryable: true,
    },
  ),
  'benchmark.no_domain': conflict('The app has no domain to send requests to. Attach one first.'),
  'benchmark.app_not_running': failed('The app has no healthy instance to measure. Deploy it, then start a new run.'),
  'benchmark.target_unreachable': failed(
    'The benchmark could not reach its target. Check that the app answers, then start a new run.',
    {
      retryable: true,
    },
  ),
  'benchmark.failed': failed('The benchmark could not be finished. The detail beside it says why.', {
    retryable: true,
  }),

  // The link: the gateway names one of these before it closes a connection.
  'link.malformed': refused('The message is not one of this protocol.'),
  'link.too_large': refused('The message is larger than the gateway accepts.', 1009),
  'link.unexpected_message': refused('The message does not belong at this point of the conversation.'),
  'link.protocol_unsupported': refused('The control plane does not speak this protocol version. Upgrade the agent.'),
  'link.server_unknown': refused('The control plane does not know this server. Enrol it again.'),
  'link.proof_wrong': refused(
    'The proof does not fit the key that this server enrolled with. Enrol it again if its key was lost.',
  ),
  'link.enrolment_invalid': refused('The enrolment token is not valid. Make a new one in the dashboard under Servers.'),
  'link.enrolment_expired': refused('The enrolment token has expired. Make a new one in the dashboard under Servers.'),
  'link.enrolment_used': refused(
    'The enrolment token was already used. Make a new one in the dashboard under Servers.',
  ),
  'link.server_name_taken': refused(
    'There is already a server with the name of this enrolment. Make a new one with another name under Servers.',
  ),
  'link.timeout': failed('The other side stayed silent for too long.', { link: 1008, retryable: true }),
  'link.replaced': failed(
    'The same server opened a newer connection. Check that only one agent runs with this data folder.',
    {
      link: 1008,
      retryable: true,
    },
  ),
  'link.shutting_down': failed('The gateway is restarting. The agent connects again by itself.', {
    link: 1012,
    retryable: true,
  }),
  'link.internal': failed('The gateway could not store what the agent sent. The agent tries again by itself.', {
    link: 1011,
    retryable: true,
  }),

  // Why an agent refused a desired state. Its last good state serves on.
  'state.invalid': failed('The server could not read its desired state. Upgrade the agent.'),
  'state.bad_signature': failed(
    'The desired state is not signed by a key that this server trusts. Enrol the server again if the control plane was replaced.',
  ),
  'state.older': failed(
    'The desired state is older than the one the server has. The control plane may have been restored from a backup.',
  ),
  'state.wrong_server': failed('The desired state is for another server.'),
  'state.capability_missing': failed('The agent lacks something that this desired state needs. Upgrade the agent.'),
  'state.apply_failed': failed('The server could not apply its desired state. The detail beside it says why.', {
    retryable: true,
  }),

  'build.clone_failed': failed(
    'The repository could not be cloned. Check its address and that the server can reach it.',
  ),
  'build.ref_not_found': failed(
    'The repository has no such branch, tag or commit. Check the branch in the settings of the app.',
  ),
  'build.root_folder_missing': failed(
    'The repository has no such root folder. Check the root folder in the settings of the app.',
  ),
  'build.not_detected': failed(
    'The builder found nothing it knows how to build. Add a package.json with a start script, or set the root folder.',
  ),
  'build.command_failed': failed('A command of the build failed. The last lines of the log say why.'),
  'build.install_failed': failed('The dependencies could not be installed. The last lines of the log say why.'),
  'build.manifest_invalid': failed(
    'The fairlead.toml or Procfile of the app has a mistake. Correct it, then deploy again.',
  ),
  'build.output_missing': failed('The build made no folder with an index.html. Set the output folder of the app.'),
  'build.toolchain_missing': failed(
    'The runtime that the app asks for can not be had on this server. Choose a version that is published.',
  ),
  'build.container_failed': failed('The image could not be built or pulled. The last lines of the log say why.'),
  'build.upload_unusable': failed('The uploaded folder could not be used. Upload it again.', { retryable: true }),
  'build.secrets_unreadable': failed('The secrets of the build could not be opened on this server. Set them anew.'),
  'build.out_of_memory': failed('The build needed more memory than it may. Give builds more, or make it need less.'),
  'build.too_large': failed('The build wrote more than it may. Let it write less, or give builds more room.'),
  'build.timeout': failed(
    'The build took longer than it may. Make it shorter, or look in the log for what it waits for.',
  ),
  'build.disk_full': failed("The server's disk is full. Free some space, then redeploy.", { retryable: true }),
  'build.cancelled': failed('The build was cancelled.'),
  'build.interrupted': failed('The build was interrupted. Redeploy to start it again.', { retryable: true }),
  'build.internal': failed('The build could not run on this server. The log says why.', { retryable: true }),

  'rollout.artifact_missing': failed(
    "The server no longer holds this release's artifact. Redeploy its commit to build it again.",
  ),
  'rollout.no_engine': failed(
    'The release is an image, and the server has no container engine that answers. Install or start Docker on it.',
    { retryable: true },
  ),
  'rollout.image_unusable': failed(
    'The container engine of the server could not take the image. The log has its words.',
  ),
  'rollout.toolchain_missing': failed(
    'A runtime that the release needs could not be had on this server. Let it reach the registry of packages.',
    { retryable: true },
  ),
  'rollout.fetch_failed': failed(
    'The server could not fetch the artifact of the release. It will work once it reaches the store.',
    {
      retryable: true,
    },
  ),
  'rollout.start_failed': failed('The app could not be started. Check its start command; the log says why.'),
  'rollout.not_listening': failed(
    'The app did not listen on its port in time. Listen on the port given in the PORT variable.',
  ),
  'rollout.wrong_port': failed(
    'The app listened on another port than the one it was given. Listen on the port given in the PORT variable.',
  ),
  'rollout.unhealthy': failed(
    'The app started, but its health check did not pass in time. Check the health path; the log says what the app answered.',
  ),
  'rollout.crash_loop': failed(
    'The app ended again and again right after its start. The last lines of its log say why.',
  ),
  'rollout.command_failed': failed(
    'A command of the roll-out failed. Its output is in the log; what served before goes on serving.',
  ),
  'rollout.canary_failed': failed(
    'The new release did worse on its share of the requests than the old one, which has all of them again. The log has the figures.',
  ),
  'rollout.disk_full': failed("The server's disk has no room for the release. Free some space, then deploy again.", {
    retryable: true,
  }),
  'rollout.cancelled': failed('The roll-out was cancelled.'),
  'upgrade.fetch_failed': failed('The new agent could not be fetched. The former one runs on; try again.', {
    retryable: true,
  }),
  'upgrade.check_failed': failed('The new agent can not work on this server. The former one runs on.'),
  'upgrade.crashed': failed(
    'The new agent ended again and again before the control plane knew it. The former one runs again; the log of the server says more.',
  ),
  'upgrade.silent': failed(
    'The new agent did not reach the control plane in time, so the former one runs again. The log of the server says more.',
    { retryable: true },
  ),
  'upgrade.replaced': failed('Another agent was installed on the server before the new one had proved itself.'),
  'upgrade.unavailable': failed(
    'The agent is not where it was installed, so nothing could start it again. Run the install command on the server once.',
  ),
  'upgrade.lost': failed('The server did not tell how the upgrade ended. Check that it is connected, then try again.', {
    retryable: true,
  }),

  'rollout.internal': failed('The roll-out could not run on this server. The log says why.', { retryable: true }),
  'log.busy': failed('This server searches its logs for others already. Try again in a moment.', { retryable: true }),
  'log.unreadable': failed("The server could not read the app's logs. The detail beside it says why.", {
    retryable: true,
  }),
  'secret.unopenable': failed(
    "The app's secrets could not be opened on this server. Deploy again; if that does not help, set the secrets anew.",
  ),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof table;
/** Codes that may end a link. */
export type LinkErrorCode = Extract<ErrorCode, `link.${string}`>;

export const errorTable: Readonly<Record<ErrorCode, ErrorEntry>> = table;
export const errorCodes = Object.keys(table) as readonly ErrorCode[];

/** Whether a code that a peer sent is one we know; agents may be newer than we are. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(table, code);
}

const appErrorBrand = Symbol.for('fairlead.AppError');

/** An expected failure. It knows no transport: a border turns its code into HTTP, tRPC or a link error by the table. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  /** Ids and values that help whoever reads the log or the form; shown to the user, so never a secret. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(errorTable[code].message, options);
    this.code = code;
    this.details = details;
  }

  get [appErrorBrand](): true {
    return true;
  }

  /** A bundler may load this module twice in one process, and an error of either copy is one of ours. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && appErrorBrand in value;
  }
}

export function isLinkErrorCode(code: ErrorCode): code is LinkErrorCode {
  return errorTable[code].link !== undefined;
}
