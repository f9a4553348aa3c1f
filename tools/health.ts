// `fairlead health`: succeeds if the sign-in page and the gateway of this machine answer. An update runs it.
import { readEnvironment } from '@fairlead/settings';
import { operatorSettings } from '@fairlead/settings/load';
import { listenerUrl } from './start/ports.ts';

const TIMEOUT_MS = 15_000;

async function main(): Promise<void> {
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
