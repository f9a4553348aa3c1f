// Table of all settings of a control plane: name, type, default, documentation, and the processes that get them.
// docs/settings.md is generated from it.
import { PORTS, type PortName } from './flags.mjs';
import {
  contactUrl,
  databaseUrl,
  directoryUrl,
  dnsServers,
  emailAddress,
  feed,
  flag,
  gatewayUrl,
  hostName,
  integer,
  listenAddress,
  logLevel,
  macKey,
  networks,
  path,
  port,
  publicUrl,
  recipient,
  schedule,
  sender,
  smtpUrl,
  text,
} from './forms.ts';
import { optional, type ProcessName, required, withDefault } from './setting.ts';

const SERVICES = ['web', 'gateway', 'worker'] as const;
const ALL = [...SERVICES, 'start'] as const;

const WEB = ['web', 'start'] as const;

function portRow<P extends ProcessName>(name: PortName, processes: readonly P[], servedDefault?: string) {
  const option = PORTS.find((each) => each.name === name);
  if (option === undefined) throw new TypeError(`no port ${name}`);
  const row = {
    key: `ports.${name}`,
    form: port,
    about: `Port: ${option.what}.`,
    ...(servedDefault === undefined
      ? {}
      : { defaultWords: `\`${option.default}\`, or ${servedDefault} if the local agent serves a public URL` }),
    processes,
  };
  return withDefault(row, option.default);
}

const pool = integer(1, 500);

/** Settings that an operator may choose, by environment variable. */
export const settings = {
  FAIRLEAD_PUBLIC_URL: withDefault(
    {
      key: 'public_url',
      form: publicUrl,
      about:
        "Address at which people open the dashboard. Links in emails and install commands contain it, or the [domain of the dashboard](guide.md#domain-of-the-dashboard) once that answers. If other machines reach it, the local agent's proxy serves it on all addresses of this one.",
      defaultWords: "`http://localhost:4400`, with the dashboard's port",
      processes: ALL,
    },
    'http://localhost:4400',
  ),
  FAIRLEAD_BEHIND_PROXY: withDefault(
    {
      key: 'behind_proxy',
      form: flag,
      about:
        "True if a reverse proxy of yours serves the public URL. The local agent's proxy then listens on loopback only.",
      processes: ['web', 'worker', 'start'],
      needs: 'FAIRLEAD_PUBLIC_URL',
    },
    false,
  ),
  FAIRLEAD_PUBLIC_CA_FILE: optional({
    key: 'public_ca_file',
    form: path,
    about:
      "Certificate authority (PEM) of your reverse proxy's certificate. New servers pin it, and people can download it.",
    defaultWords: "the one that the local agent creates, or behind a reverse proxy those of each machine's system",
    processes: ['web'],
    needs: 'FAIRLEAD_BEHIND_PROXY',
  }),
  FAIRLEAD_AGENT_URL: optional({
    key: 'agent_url',
    form: publicUrl,
    about: 'Address at which agents reach the gateway.',
    defaultWords: 'the public URL if it is https, otherwise the gateway on this machine',
    processes: ['web'],
  }),
  FAIRLEAD_TRUSTED_PROXIES: withDefault(
    {
      key: 'trusted_proxies',
      form: networks,
      about:
        'Reverse proxies in front of the dashboard and the gateway. Fairlead reads client addresses from their `X-Forwarded-For`, so only they may reach these two directly.',
      processes: ['web', 'gateway'],
    },
    [],
  ),
  FAIRLEAD_CONTROL_HOST: withDefault(
    {
      key: 'control_host',
      form: hostName,
      about: "Host under which the local agent's proxy serves the dashboard over https; empty for none.",
      processes: ['web', 'gateway', 'start'],
    },
    'fairlead.localhost',
  ),
  FAIRLEAD_DATA_DIR: optional({
    key: 'data_dir',
    form: path,
    about: 'Folder for all data and logs.',
    defaultWords: '`.fairlead` in the clone',
    processes: ['web', 'worker', 'start'],
  }),
  FAIRLEAD_ARTIFACT_STORE_DIR: optional({
    key: 'artifact_store_dir',
    form: path,
    about: 'Folder for built releases and uploads.',
    defaultWords: '`log-store/artifacts` in the data folder',
    processes: SERVICES,
  }),
  FAIRLEAD_AGENT_BINARY: optional({
    key: 'agent_binary',
    form: path,
    about:
      "Agent for new servers and upgrades: one program for this machine's architecture, or a folder with `linux-x64` and `linux-arm64`.",
    defaultWords: 'the agent of this start',
    processes: ['web'],
  }),
  FAIRLEAD_MASTER_KEY_FILE: required({
    key: 'master_key_file',
    form: path,
    about: 'File with the key that encrypts the keys of stored secrets. Only its owner may read it.',
    defaultWords: '`secrets/master-key` in the data folder, created by the first start',
    processes: SERVICES,
  }),
  FAIRLEAD_OUTBOUND_ALLOW: withDefault(
    {
      key: 'outbound_allow',
      form: networks,
      about:
        'Private addresses and networks that the control plane may call for a user, such as that of your git server, GitHub Enterprise Server or name server, or of a server whose ports it checks.',
      processes: ['web', 'worker'],
    },
    [],
  ),
  FAIRLEAD_GITHUB_SIGN_IN_APP: optional({
    key: 'github_sign_in_app',
    form: text,
    about:
      'Id (`gha_…`, under Settings → Git) of the connected GitHub App with which people [sign in](guide.md#sign-in-with-github). Owners of this app at GitHub can sign in as everyone who linked their account by it, so choose one of your own. Without it, sign-in with GitHub is off.',
    processes: ['web'],
  }),
  FAIRLEAD_SECURITY_CONTACT: optional({
    key: 'security_contact',
    form: contactUrl,
    about: 'Contact in `/.well-known/security.txt`.',
    processes: ['web'],
  }),
  LOG_LEVEL: withDefault(
    { key: 'log_level', form: logLevel, about: 'Lowest level of log lines.', processes: SERVICES },
    'info',
  ),

  FAIRLEAD_SMTP_URL: optional({
    key: 'mail.smtp_url',
    form: smtpUrl,
    about: 'Mail server, such as `smtp://user:password@host:587` or `smtps://…`. Prefer `smtp_url_file`.',
    isSecret: true,
    processes: ['web', 'worker'],
    insteadOf: 'FAIRLEAD_SMTP_URL_FILE',
    needs: 'FAIRLEAD_MAIL_FROM',
  }),
  FAIRLEAD_SMTP_URL_FILE: optional({
    key: 'mail.smtp_url_file',
    form: path,
    about: 'File that holds the URL of the mail server. Other users of the machine may not open it.',
    processes: ['web', 'worker'],
    isSecretFile: true,
    insteadOf: 'FAIRLEAD_SMTP_URL',
    needs: 'FAIRLEAD_MAIL_FROM',
  }),
  FAIRLEAD_MAIL_FROM: optional({
    key: 'mail.from',
    form: sender,
    about: 'Sender of mails, such as `Fairlead <fairlead@example.com>`. Needed with a mail server.',
    processes: ['web', 'worker'],
  }),

  FAIRLEAD_ACME_DIRECTORY_URL: withDefault(
    {
      key: 'acme.directory_url',
      form: directoryUrl,
      about:
        "Certificate authority for public domains: its ACME directory. By using it you accept the authority's terms of service. Leave empty to turn automatic certificates off.",
      processes: ['web', 'worker'],
    },
    'https://acme-v02.api.letsencrypt.org/directory',
  ),
  FAIRLEAD_ACME_CA_FILE: optional({
    key: 'acme.ca_file',
    form: path,
    about: "Certificate authority (PEM) of the directory's own certificate, for an authority of your own.",
    defaultWords: "those of each server's system",
    processes: SERVICES,
  }),
  FAIRLEAD_ACME_EMAIL: withDefault(
    {
      key: 'acme.email',
      form: emailAddress,
      about: 'Address that the certificate authority may write to; empty for none.',
      processes: ['gateway', 'worker'],
    },
    '',
  ),
  FAIRLEAD_ACME_EAB_KEY_ID: optional({
    key: 'acme.eab_key_id',
    form: text,
    about:
      'Key ID of the external account binding (EAB), for an authority that wants one, such as ZeroSSL or Google Trust Services.',
    processes: ['worker'],
  }),
  FAIRLEAD_ACME_EAB_HMAC_KEY: optional({
    key: 'acme.eab_hmac_key',
    form: macKey,
    about: 'Key of the external account binding, in base64url. Prefer `eab_hmac_key_file`.',
    isSecret: true,
    processes: ['worker'],
    insteadOf: 'FAIRLEAD_ACME_EAB_HMAC_KEY_FILE',
    needs: 'FAIRLEAD_ACME_EAB_KEY_ID',
  }),
  FAIRLEAD_ACME_EAB_HMAC_KEY_FILE: optional({
    key: 'acme.eab_hmac_key_file',
    form: path,
    about: 'File that holds the key of the external account binding. Other users of the machine may not open it.',
    processes: ['worker'],
    isSecretFile: true,
    insteadOf: 'FAIRLEAD_ACME_EAB_HMAC_KEY',
    needs: 'FAIRLEAD_ACME_EAB_KEY_ID',
  }),
  FAIRLEAD_DNS_RESOLVERS: withDefault(
    {
      key: 'dns.resolvers',
      form: dnsServers,
      about:
        'DNS servers that check the records of domains and of orders, such as `["9.9.9.9", "[2620:fe::fe]:53"]`. Choose public ones if your own answer differently inside your network.',
      defaultWords: "the system's; for the TXT records of orders, the name servers of the zone",
      processes: ['worker'],
    },
    [],
  ),
  FAIRLEAD_BACKUP_FOLDER: optional({
    key: 'backup.folder',
    form: path,
    about: 'Folder for scheduled backups, on another disk than the data. No other control plane may use it.',
    processes: ['web', 'worker'],
  }),
  FAIRLEAD_BACKUP_SCHEDULE: optional({
    key: 'backup.schedule',
    form: schedule,
    about: 'Time of day of the daily backup (UTC, `03:30`), or an interval from `1h` to `12h` that divides the day.',
    defaultWords: 'none: backups start only by the button or the command',
    processes: ['web', 'worker'],
    needs: 'FAIRLEAD_BACKUP_FOLDER',
  }),
  FAIRLEAD_BACKUP_KEEP: withDefault(
    {
      key: 'backup.keep',
      form: integer(1, 1000),
      about:
        'Number of backups to keep in the folder. Each scheduled backup and **Back up now** delete older ones. The command line does so only with `--keep`.',
      processes: ['web', 'worker'],
      needs: 'FAIRLEAD_BACKUP_FOLDER',
    },
    14,
  ),
  FAIRLEAD_BACKUP_RECIPIENT: optional({
    key: 'backup.recipient',
    form: recipient,
    about: 'Public recovery key (`age1…`) that backups are encrypted for. Its private half opens them.',
    defaultWords: 'the recovery key that the first `npm run backup` made',
    processes: ['worker'],
  }),

  FAIRLEAD_UPDATES_FEED: optional({
    key: 'updates.feed',
    form: feed,
    about:
      'Folder or https address with the files of the newest release. The control plane looks there for updates once a day, and `fairlead update` takes them from there.',
    defaultWords: 'none: it looks for no updates',
    processes: ['web', 'worker'],
  }),

  FAIRLEAD_WEB_HOST: withDefault(
    {
      key: 'listen.web',
      form: listenAddress,
      about: 'Address on which the dashboard listens with plain http, for a reverse proxy.',
      processes: WEB,
    },
    '127.0.0.1',
  ),
  FAIRLEAD_GATEWAY_HOST: withDefault(
    {
      key: 'listen.gateway',
      form: listenAddress,
      about: 'Address on which the gateway listens with plain http, for a reverse proxy.',
      processes: ['web', 'gateway', 'start'],
    },
    '127.0.0.1',
  ),

  FAIRLEAD_WEB_PORT: portRow('web', WEB),
  FAIRLEAD_GATEWAY_PORT: portRow('gateway', ['web', 'gateway', 'start']),
  FAIRLEAD_SOURCE_PORT: portRow('source', ['start']),
  FAIRLEAD_HTTPS_PORT: portRow('https', ['web', 'gateway', 'worker', 'start'], "the URL's port (443)"),
  FAIRLEAD_HTTP_PORT: portRow('http', ['web', 'gateway', 'worker', 'start'], '`80`'),
  FAIRLEAD_DATABASE_PORT: portRow('database', ['start']),

  FAIRLEAD_CALLS_PER_MINUTE: withDefault(
    {
      key: 'limits.calls_per_minute',
      form: integer(60, 1_000_000),
      about: 'API calls a minute for one token, or for one person over all sessions.',
      processes: ['web'],
    },
    1800,
  ),
  FAIRLEAD_BUILDS_PER_SERVER: withDefault(
    {
      key: 'limits.builds_per_server',
      form: integer(1, 100),
      about: 'Builds that run on one server at the same time.',
      processes: ['web', 'worker'],
    },
    2,
  ),
  FAIRLEAD_BUILDS_PER_ORGANIZATION: withDefault(
    {
      key: 'limits.builds_per_organization',
      form: integer(1, 1000),
      about: 'Builds of one organization that run at the same time.',
      processes: ['web', 'worker'],
    },
    8,
  ),
  FAIRLEAD_FREE_DISK_MIB: withDefault(
    {
      key: 'limits.free_disk_mib',
      form: integer(64, 10_000_000),
      about:
        "MiB of the control plane's disk that stay free for the database, at most 5 % of the disk. Below, uploads, artifacts and build logs are rejected, and operators are warned.",
      processes: SERVICES,
    },
    2048,
  ),
  FAIRLEAD_WORKER_JOBS: withDefault(
    {
      key: 'limits.worker_jobs',
      form: integer(1, 100),
      about: 'Jobs that the worker runs at the same time. Each opens a database connection of its own.',
      processes: ALL,
    },
    3,
  ),

  DATABASE_URL: required({
    key: 'database.url',
    form: databaseUrl,
    about:
      'PostgreSQL 16 or newer, with its contrib modules. Its role owns the database and may create roles; it is neither superuser nor `BYPASSRLS`.',
    defaultWords: 'an embedded PostgreSQL in the data folder',
    isSecret: true,
    processes: SERVICES,
  }),
  FAIRLEAD_WEB_POOL: withDefault(
    { key: 'database.web_pool', form: pool, about: 'Database connections of the dashboard.', processes: ALL },
    10,
  ),
  FAIRLEAD_GATEWAY_POOL: withDefault(
    { key: 'database.gateway_pool', form: pool, about: 'Database connections of the gateway.', processes: ALL },
    6,
  ),
  FAIRLEAD_WORKER_POOL: withDefault(
    {
      key: 'database.worker_pool',
      form: pool,
      about: 'Database connections of the worker, beside those of its jobs.',
      processes: ALL,
    },
    3,
  ),
} as const;

/** Variables that `npm start` derives from its folders and gives to the processes. Users don't set them. */
export const derived = {
  FAIRLEAD_GATEWAY_URL: withDefault(
    {
      key: '',
      form: gatewayUrl,
      about: 'URL of the gateway for the web process.',
      processes: ['web'],
    },
    'http://127.0.0.1:4401',
  ),
  FAIRLEAD_VERSION: withDefault(
    { key: '', form: text, about: 'Version of the control plane, for the control plane page.', processes: ['web'] },
    'unknown',
  ),
  FAIRLEAD_RELEASE_KEYS: withDefault(
    {
      key: '',
      form: text,
      about: 'Public keys of releases, separated by commas; empty in a clone.',
      processes: ['web', 'worker'],
    },
    '',
  ),
  FAIRLEAD_UPDATER_DIR: optional({
    key: '',
    form: path,
    about: 'Folder that an installation shares with its updater.',
    processes: ['web'],
  }),
  FAIRLEAD_INTERNAL_TOKEN_FILE: required({
    key: '',
    form: path,
    about: 'Token with which the web process calls the gateway.',
    defaultWords: '',
    processes: ['web', 'gateway'],
  }),
  FAIRLEAD_AUTH_SECRET_FILE: required({
    key: '',
    form: path,
    about: 'Secret that signs cookies.',
    defaultWords: '',
    processes: ['web'],
  }),
  FAIRLEAD_SIGNING_KEY_DIR: required({
    key: '',
    form: path,
    about: 'Folder of the keys that sign desired states.',
    defaultWords: '',
    processes: ['gateway'],
  }),
  FAIRLEAD_CONTROL_SOCKET: optional({
    key: '',
    form: path,
    about: "Unix socket of this process for the local agent's proxy.",
    processes: ['web'],
  }),
  FAIRLEAD_BACKUP_SCRIPT: optional({
    key: '',
    form: path,
    about: 'Script that the worker starts for a backup.',
    processes: ['worker'],
  }),
  FAIRLEAD_LOG_STORE_DIR: required({
    key: '',
    form: path,
    about: 'Folder of deployment logs.',
    defaultWords: '',
    processes: SERVICES,
  }),
} as const;

export type SettingName = keyof typeof settings;
export type VariableName = SettingName | keyof typeof derived;

export const settingNames = Object.keys(settings) as SettingName[];
