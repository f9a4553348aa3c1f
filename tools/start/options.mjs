// Options of `npm start`. Free of dependencies and plain JavaScript: the system's Node reads it before anything is
// installed.
import { isAbsolute, resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** @type {import('./options.d.mts').PortOption[]} */
export const PORTS = [
  { name: 'web', option: 'web-port', default: 4400, what: 'dashboard (plain http on localhost)' },
  { name: 'gateway', option: 'gateway-port', default: 4401, what: 'gateway for agents' },
  { name: 'source', option: 'source-port', default: 4402, what: 'git repository that serves this clone' },
  { name: 'https', option: 'https-port', default: 4443, what: 'apps over https' },
  { name: 'http', option: 'http-port', default: 4480, what: 'apps over http (redirects to https)' },
  { name: 'database', option: 'database-port', default: 24432, what: 'embedded PostgreSQL' },
];

/** Ports of the agent's proxy when it serves a public URL: those that browsers assume. */
const PUBLIC_PORTS = { https: 443, http: 80 };

export const HELP = `Usage: npm start -- [options]

Installs, builds and starts Fairlead: dashboard, gateway, worker, PostgreSQL and a local agent. On the first start it
deploys examples/hello-node and measures it. Ctrl-C stops everything; the next start comes back with all data.

  --data DIR            folder for all data and logs (default: .fairlead in this clone)
${PORTS.map((port) => `  --${`${port.option} N`.padEnd(19)} ${port.what} (default: ${port.default})`).join('\n')}
  --public-url URL      https URL under which people and servers on other machines reach this one, by name or IP address
  --behind-proxy        a reverse proxy of yours serves the public URL with a certificate that every machine trusts
  --agent FILE          use this agent binary instead of building one
  --reset               delete all data first; asks before it does
  --yes                 answer --reset's question with yes
  --help                show this

With --public-url apps and dashboard are served on all addresses, by default on the URL's port (443) and on 80 for
redirects to https. FAIRLEAD_PUBLIC_URL is the same as --public-url.

Environment: DATABASE_URL uses that PostgreSQL instead of the embedded one. Its role must be an ordinary one that owns
the database and may create roles, neither superuser nor BYPASSRLS.
FAIRLEAD_SMTP_URL (smtp://user:password@host:587) or FAIRLEAD_SMTP_URL_FILE, and FAIRLEAD_MAIL_FROM let it send mail.
`;

export class OptionsError extends Error {}

/** @type {typeof import('./options.d.mts').parseOptions} */
export function parseOptions(args, { root, cwd, env }) {
  const values = read(args);
  const publicUrl = readPublicUrl(values['public-url'] ?? (env.FAIRLEAD_PUBLIC_URL || undefined));
  const behindProxy = values['behind-proxy'] === true;
  if (behindProxy && publicUrl === undefined) throw new OptionsError('--behind-proxy needs the --public-url it serves');
  const isServed = publicUrl !== undefined && !behindProxy;
  const defaults = isServed ? { ...PUBLIC_PORTS, https: Number(publicUrl.port || PUBLIC_PORTS.https) } : {};
  const ports = /** @type {Record<string, number>} */ ({});
  for (const { name, option, default: fallback } of PORTS) {
    const given = values[option];
    const port = given === undefined ? (defaults[name] ?? fallback) : Number(given);
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new OptionsError(`--${option} must be a port from 1 to 65535, not ${given}`);
    const twin = Object.keys(ports).find((other) => ports[other] === port);
    if (twin !== undefined)
      throw new OptionsError(`--${option} and --${twin}-port are both ${port}: choose two different ports`);
    ports[name] = port;
  }
  const from = (path) => (isAbsolute(path) ? path : resolve(cwd, path));
  return {
    root,
    data: values.data === undefined ? undefined : from(values.data),
    agent: values.agent === undefined ? undefined : from(values.agent),
    databaseUrl: env.DATABASE_URL || undefined,
    reset: values.reset === true,
    yes: values.yes === true,
    help: values.help === true,
    publicUrl: publicUrl?.origin,
    listen: isServed ? '[::]' : '127.0.0.1',
    ports,
  };
}

/** The dashboard and the agents' link have fixed paths, so a URL with a path of its own can't work. */
function readPublicUrl(text) {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isWhole = url !== undefined && url.protocol === 'https:' && url.origin === url.href.replace(/\/$/, '');
  if (!isWhole) throw new OptionsError(`--public-url must be https://host or https://host:port, not ${text}`);
  return url;
}

function read(args) {
  const text = { type: /** @type {const} */ ('string') };
  const flag = { type: /** @type {const} */ ('boolean') };
  const options = {
    data: text,
    agent: text,
    'public-url': text,
    'behind-proxy': flag,
    reset: flag,
    yes: flag,
    help: { ...flag, short: 'h' },
  };
  try {
    return parseArgs({ args, options: { ...options, ...Object.fromEntries(PORTS.map((port) => [port.option, text])) } })
      .values;
  } catch (error) {
    throw new OptionsError(`${error.message.split('. ')[0]}. See npm start -- --help`);
  }
}
