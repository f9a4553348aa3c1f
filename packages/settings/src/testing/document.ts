// Renders docs/settings.md from the table of settings.
import { PORTS, SETTING_OPTIONS } from '../flags.mjs';
import { DEFAULT_FILE, FILE_VARIABLE } from '../load-settings.ts';
import type { Setting } from '../setting.ts';
import { settings } from '../table.ts';

const SECTIONS: readonly { readonly table: string; readonly title: string }[] = [
  { table: '', title: 'General' },
  { table: 'mail', title: 'Email' },
  { table: 'acme', title: 'Certificates' },
  { table: 'dns', title: 'DNS' },
  { table: 'backup', title: 'Backups' },
  { table: 'updates', title: 'Updates' },
  { table: 'listen', title: 'Listen addresses' },
  { table: 'ports', title: 'Ports' },
  { table: 'limits', title: 'Limits' },
  { table: 'database', title: 'Database' },
];

const HEAD = `# Settings

All settings of a control plane. This page is generated from \`packages/settings/src/table.ts\`.

## Set a setting

A setting comes from the first of these sources that has it:

1. an option of \`npm start\`, such as \`npm start -- --public-url https://fairlead.example.com\`
2. an environment variable, such as \`FAIRLEAD_PUBLIC_URL\`; an empty one counts as absent
3. the settings file, in [TOML](https://toml.io): the one that \`--settings FILE\` or \`${FILE_VARIABLE}\` names, otherwise
   \`${DEFAULT_FILE}\` if it exists
4. the default

\`\`\`toml
# ${DEFAULT_FILE}
public_url = "https://fairlead.example.com"
behind_proxy = true
trusted_proxies = ["127.0.0.1"]

[mail]
smtp_url_file = "smtp-url"
from = "Fairlead <fairlead@example.com>"
\`\`\`

- A relative path in the file starts at the file's folder. Elsewhere it starts at the folder from which you start.
- In a variable or an option, commas separate the items of a list.
- An unknown key, a value of the wrong form, or a file with a secret that every user may open is an error at the start. The
  error names the file and the key, never the value.
- Secrets are never options, because every user of a machine sees command lines. Only the processes that need a secret get it.
- \`npm run recover\`, \`npm run master-key\`, \`npm run backup\` and \`npm run restore\` read the variables and the file too. On an
  installed Fairlead they are \`fairlead recover\`, \`fairlead master-key\`, \`fairlead backup\` and \`fairlead restore\`.

Settings change with the next start. On an installed Fairlead, run \`systemctl restart fairlead\`: apps keep running.

## Serve other people and servers

By default, only this machine reaches the dashboard, and the start warns about it. To change that, set \`public_url\` to an https
address of this machine ([how](guide.md#serve-other-machines)). If a reverse proxy of yours serves that address, set
\`behind_proxy\`, and \`trusted_proxies\` to the addresses of the proxy.
`;

export function renderSettings(): string {
  const rows = Object.entries<Setting>(settings);
  const homeless = rows.find(
    ([, { key }]) => key.includes('.') && !SECTIONS.some(({ table }) => table === key.split('.')[0]),
  );
  if (homeless !== undefined) throw new Error(`no section of docs/settings.md is for ${homeless[1].key}`);
  const sections = SECTIONS.map(({ table, title }) => {
    const own = rows.filter(([, { key }]) => (key.includes('.') ? key.split('.')[0] : '') === table);
    const lines = own.map(([name, setting]) => renderRow(name, setting));
    const under = table === '' ? '' : `\nKeys of the table \`[${table}]\`.\n`;
    return `## ${title}\n${under}\n| key | variable | option | default | meaning |\n|---|---|---|---|---|\n${lines.join('\n')}\n`;
  });
  return [HEAD, ...sections].join('\n');
}

function renderRow(name: string, { key, about, defaultWords = 'none', form, isSecret }: Setting): string {
  const option = [...SETTING_OPTIONS, ...PORTS].find(({ variable }) => variable === name)?.option;
  const meaning = `${about}${isSecret === true ? ' A secret.' : ''} Form: ${form.expects}.`;
  const cells = [`\`${key.split('.').at(-1)}\``, `\`${name}\``, option === undefined ? '' : `\`--${option}\``];
  return `| ${[...cells, defaultWords, meaning].join(' | ')} |`;
}
