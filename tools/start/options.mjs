// Options of `npm start`. Free of dependencies and plain JavaScript: the system's Node reads it before anything is
// installed.
import { isAbsolute, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PORTS, SETTING_OPTIONS } from '../../packages/settings/src/flags.mjs';

export { PORTS };

function line(option, what) {
  return `  --${option.padEnd(21)} ${what}`;
}

/** @type {typeof import('./options.d.mts').helpOf} */
export function helpOf({ command, what, agent, without = [] }) {
  const ports = PORTS.filter(({ name }) => !without.includes(name));
  return `Usage: ${command} [options]

${what}

${SETTING_OPTIONS.map(({ option, value, what: meaning }) => line(value ? `${option} ${value}` : option, meaning)).join('\n')}
${ports.map((port) => line(`${port.option} N`, `${port.what} (default: ${port.default})`)).join('\n')}
${line('settings FILE', 'settings file (default: /etc/fairlead/fairlead.toml, if it exists)')}
${line('agent FILE', agent)}
${line('reset', 'delete all data first; asks before it does')}
${line('yes', "answer --reset's question with yes")}
${line('keep-apps', 'leave the apps of this server running when Fairlead stops')}
${line('help', 'show this')}

The local agent's proxy serves a public URL on all addresses, by default at the URL's port (443) and at 80 for redirects to
https. With --behind-proxy, and without a public URL, it listens on loopback.

An option overrides its environment variable, which overrides the settings file. docs/settings.md lists all
settings, including DATABASE_URL for your own PostgreSQL. Secrets are never options: put them into a file or the
environment.
`;
}

export const HELP = helpOf({
  command: 'npm start --',
  what: `Installs, builds and starts Fairlead: dashboard, gateway, worker, PostgreSQL and a local agent. On the first start it
deploys examples/hello-node and measures it. Ctrl-C stops everything; the next start comes back with all data.`,
  agent: 'use this agent binary instead of building one',
});

export class OptionsError extends Error {}

/** @type {typeof import('./options.d.mts').parseOptions} */
export function parseOptions(args, { root, cwd }) {
  const values = read(args);
  const from = (path) => (path === undefined || isAbsolute(path) ? path : resolve(cwd, path));
  // Checks before minutes of installing and building; the table of settings checks everything again.
  for (const { option } of PORTS) {
    const port = values[option];
    if (port !== undefined && !(/^\d{1,5}$/.test(port) && port >= 1 && port <= 65_535))
      throw new OptionsError(`--${option} must be a port from 1 to 65535, not ${port}`);
  }
  const given = [...SETTING_OPTIONS, ...PORTS].filter(({ option }) => values[option] !== undefined);
  return {
    root,
    cwd,
    agent: from(values.agent),
    settingsFile: from(values.settings),
    flags: Object.fromEntries(
      given.map(({ option, variable }) => [variable, { option, value: String(values[option]) }]),
    ),
    reset: values.reset === true,
    yes: values.yes === true,
    keepApps: values['keep-apps'] === true,
    help: values.help === true,
  };
}

function read(args) {
  const text = { type: /** @type {const} */ ('string') };
  const flag = { type: /** @type {const} */ ('boolean') };
  const settings = SETTING_OPTIONS.map(({ option, value }) => [option, value === undefined ? flag : text]);
  const ports = PORTS.map(({ option }) => [option, text]);
  const options = {
    settings: text,
    agent: text,
    reset: flag,
    yes: flag,
    'keep-apps': flag,
    help: { ...flag, short: 'h' },
  };
  try {
    return parseArgs({ args, options: { ...options, ...Object.fromEntries([...settings, ...ports]) } }).values;
  } catch (error) {
    throw new OptionsError(`${error.message.split('. ')[0]}. See npm start -- --help`);
  }
}
