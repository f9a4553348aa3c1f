// `fairlead start`: launches the programs of an installed release. Builds nothing and writes only to the data folder.
import { join } from 'node:path';
import { ROOT } from '../lib/command.ts';
import type { Release } from '../lib/release.ts';
import { DATA_INSTALLED } from './folders.ts';
import { exitOnFailure, launch } from './launch.ts';
import { PORTS, parseOptions } from './options.mjs';

const HELP = `Usage: fairlead start [options]

Starts Fairlead: dashboard, gateway, worker, PostgreSQL and a local agent. Ctrl-C or SIGTERM stops everything.

  --data DIR            folder for all data and logs (default: ${DATA_INSTALLED})
${PORTS.filter(({ name }) => name !== 'source')
  .map((port) => `  --${`${port.option} N`.padEnd(19)} ${port.what} (default: ${port.default})`)
  .join('\n')}
  --agent FILE          use this agent binary instead of the release's
  --reset               delete all data first; asks before it does
  --yes                 answer --reset's question with yes
  --help                show this

Environment: DATABASE_URL uses that PostgreSQL instead of the embedded one. Its role must be an ordinary one that owns
the database and may create roles, neither superuser nor BYPASSRLS.
FAIRLEAD_SMTP_URL (smtp://user:password@host:587) or FAIRLEAD_SMTP_URL_FILE, and FAIRLEAD_MAIL_FROM let it send mail.
`;

export async function startRelease(release: Release, args: readonly string[]): Promise<void> {
  try {
    const options = parseOptions(args, { root: ROOT, cwd: process.cwd(), env: process.env });
    if (options.help) {
      process.stdout.write(HELP);
      return;
    }
    const agents = join(ROOT, 'agents');
    await launch({
      options,
      hasSample: false,
      prepare: async () => ({
        agentBinary: options.agent ?? join(agents, release.target),
        offeredAgents: agents,
        webServer: join(ROOT, 'apps/web/.next/standalone/apps/web/server.js'),
      }),
    });
  } catch (error) {
    exitOnFailure(error);
  }
}
