// `npm start`, second half, on the lock file's Node: builds this clone's programs, then launches them.
import { ROOT } from '../lib/command.ts';
import { buildAgent, buildWeb, generateClient, WEB_SERVER } from './builds.ts';
import { exitOnFailure, launch } from './launch.ts';
import { parseOptions } from './options.mjs';

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2), {
    root: ROOT,
    cwd: process.env.INIT_CWD ?? process.cwd(),
  });
  await launch({
    options,
    hasSample: true,
    async prepare(progress) {
      await progress.step('database client', (detail) => generateClient(detail));
      const [agentBinary] = await Promise.all([
        options.agent ?? progress.step('agent', (detail) => buildAgent(detail)),
        progress.step('web app', (detail) => buildWeb(detail)),
      ]);
      return { agentBinary, webServer: WEB_SERVER };
    },
  });
}

main().catch(exitOnFailure);
