// Command-line options of `npm start` that are settings. Free of dependencies and plain JavaScript: the system's Node
// reads it before anything is installed. Invariant: no secret is an option, because others see command lines.

/** @type {import('./flags.d.mts').PortOption[]} */
export const PORTS = [
  { name: 'web', option: 'web-port', variable: 'FAIRLEAD_WEB_PORT', default: 4400, what: 'dashboard (plain http)' },
  {
    name: 'gateway',
    option: 'gateway-port',
    variable: 'FAIRLEAD_GATEWAY_PORT',
    default: 4401,
    what: 'gateway for agents',
  },
  {
    name: 'source',
    option: 'source-port',
    variable: 'FAIRLEAD_SOURCE_PORT',
    default: 4402,
    what: 'git repository that serves this clone',
  },
  { name: 'https', option: 'https-port', variable: 'FAIRLEAD_HTTPS_PORT', default: 4443, what: 'apps over https' },
  {
    name: 'http',
    option: 'http-port',
    variable: 'FAIRLEAD_HTTP_PORT',
    default: 4480,
    what: 'apps over http (redirects to https, except *.localhost)',
  },
  {
    name: 'database',
    option: 'database-port',
    variable: 'FAIRLEAD_DATABASE_PORT',
    default: 24432,
    what: 'embedded PostgreSQL',
  },
];

/** @type {import('./flags.d.mts').SettingOption[]} */
export const SETTING_OPTIONS = [
  { option: 'data', value: 'DIR', variable: 'FAIRLEAD_DATA_DIR', what: 'folder for all data and logs' },
  {
    option: 'public-url',
    value: 'URL',
    variable: 'FAIRLEAD_PUBLIC_URL',
    what: 'https URL at which people and servers on other machines reach this one, by name or IP address',
  },
  {
    option: 'behind-proxy',
    variable: 'FAIRLEAD_BEHIND_PROXY',
    what: 'a reverse proxy of yours serves the public URL',
  },
  {
    option: 'agent-url',
    value: 'URL',
    variable: 'FAIRLEAD_AGENT_URL',
    what: 'address at which agents reach the gateway',
  },
  {
    option: 'trusted-proxies',
    value: 'LIST',
    variable: 'FAIRLEAD_TRUSTED_PROXIES',
    what: 'reverse proxies whose X-Forwarded-For counts',
  },
  { option: 'web-host', value: 'IP', variable: 'FAIRLEAD_WEB_HOST', what: 'listen address of the dashboard' },
  { option: 'gateway-host', value: 'IP', variable: 'FAIRLEAD_GATEWAY_HOST', what: 'listen address of the gateway' },
  {
    option: 'smtp-url-file',
    value: 'FILE',
    variable: 'FAIRLEAD_SMTP_URL_FILE',
    what: 'file with the URL of the mail server',
  },
  { option: 'mail-from', value: 'SENDER', variable: 'FAIRLEAD_MAIL_FROM', what: 'sender of mails' },
];
