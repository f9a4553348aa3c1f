// `fairlead health`: succeeds if the sign-in page and the gateway of this machine answer. An update runs it.
import { parseArgs } from 'node:util';
import { readEnvironment } from '@fairlead/settings';
import { operatorSettings } from '@fairlead/settings/load';
import { listenerUrl } from './start/ports.ts';

const HELP = `Usage: fairlead health

Succeeds if the sign-in page and the gateway of this machine answer, and prints what each answers.

  --help    show this
`;
const TIMEOUT_MS = 15_000;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } });
  if (values.help) return void process.stdout.write(HELP);
  const settings = readEnvironment('start', operatorSettings());
  const web = listenerUrl(settings.FAIRLEAD_WEB_HOST, settings.FAIRLEAD_WEB_PORT);
  const gateway = listenerUrl(settings.FAIRLEAD_GATEWAY_HOST, settings.FAIRLEAD_GATEWAY_PORT);
  for (const url of [`${web}/healthz`, `${web}/sign-in`, `${gateway}/healthz`]) {
    // Before there is an owner, the sign-in page leads to the setup, at the public URL.
    const { status } = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (status >= 400) throw new Error(`${url} answers ${status}`);
    console.log(`  ok ${url} answers ${status}`);
  }
}

main().catch((error: unknown) => {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  console.error(`fairlead: ${error instanceof Error ? error.message : String(error)}${cause}`);
  process.exit(1);
});
