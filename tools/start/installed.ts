// `fairlead start`: launches the programs of an installed release. Builds nothing and writes only to the data folder.
import { join } from 'node:path';
import { ROOT } from '../lib/command.ts';
import type { Release } from '../lib/release.ts';
import { DATA_INSTALLED } from './folders.ts';
import { exitOnFailure, launch } from './launch.ts';
import { helpOf, parseOptions } from './options.mjs';

const HELP = helpOf({
  command: 'fairlead start',
  what: `Starts Fairlead: dashboard, gateway, worker, PostgreSQL and a local agent, with its data in ${DATA_INSTALLED} unless a
setting names another folder. Ctrl-C or SIGTERM stops everything.`,
  agent: "use this agent binary instead of the release's",
  without: ['source'],
});

export async function startRelease(release: Release, args: readonly string[]): Promise<void> {
  try {
    const options = parseOptions(args, { root: ROOT, cwd: process.cwd() });
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
