// PostgreSQL that an operator runs beside Fairlead. The programs of a release stand in for it: a Debian 11 has none newer than 13.
import { waitFor } from '../../tools/lib/wait.ts';
import type { Target } from '../../tools/release/targets.ts';
import type { Server } from './server.ts';

const START_TIMEOUT_MS = 60_000;
const PROGRAMS = '/srv/own';
const URL_FILE = 'root/database-url';

export interface OwnDatabaseOptions {
  /** Archive of a control plane on the server. */
  readonly archive: string;
  readonly target: Target;
}

/** Returns the file with its URL on the server. */
export async function startOwnDatabase(server: Server, { archive, target }: OwnDatabaseOptions): Promise<string> {
  await server.must(['sh', '-c', `mkdir ${PROGRAMS} && tar -xzf ${archive} -C ${PROGRAMS} --strip-components=1`]);
  const script = `
    import { writeFileSync } from 'node:fs';
    import { startEmbedded } from '${PROGRAMS}/packages/db/src/embedded.ts';
    const options = { dataDir: '${PROGRAMS}-data', port: 25432, log: () => undefined };
    writeFileSync('/${URL_FILE}', (await startEmbedded(options)).url, { mode: 0o600 });`;
  const node = [`${PROGRAMS}/node_modules/node-${target.name}/bin/node`, '--input-type=module', '--eval', script];
  await server.must(['systemd-run', '--quiet', '--unit=own-database', ...node]);
  await waitFor(() => server.read(URL_FILE) !== '', { what: 'the own PostgreSQL', timeoutMs: START_TIMEOUT_MS });
  return `/${URL_FILE}`;
}
