// `npm start`, second half, on the lock file's Node: prepares folders, ports and builds, then runs serve.ts. Every
// expected failure ends as one clear line.
import { rmSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { createInterface } from 'node:readline/promises';
import { ROOT } from '../lib/command.ts';
import { isAlive } from '../lib/process-identity.ts';
import { BuildFailed, buildAgent, buildWeb, generateClient, WEB_SERVER } from './builds.ts';
import { type ChosenFolders, chooseFolders, FolderError, isData, openData } from './folders.ts';
import { EnrolmentFailed, hasLivingProxy } from './local-agent.ts';
import { type Options, OptionsError, type PortName, parseOptions } from './options.mjs';
import { PortTaken, requireFreePorts } from './ports.ts';
import { createProgress, type Progress } from './progress.ts';
import { SourceError } from './source-mirror.ts';
import { readStartSettings, type StartSettings } from './start-settings.ts';
import { endLeftovers, ServiceFailed, Supervisor } from './supervisor.ts';

class StartRefused extends Error {}

/** Errors with a message for the user; any other error prints its stack. */
const EXPECTED = [
  BuildFailed,
  EnrolmentFailed,
  FolderError,
  OptionsError,
  PortTaken,
  ServiceFailed,
  SourceError,
  StartRefused,
];
const EXPECTED_NAMES = new Set([
  'EmbeddedError',
  'MigrationError',
  'ServeFailed',
  'SettingsError',
  'UnsafeDatabaseError',
]);

async function main(): Promise<void> {
  const startedAt = performance.now();
  const options = parseOptions(process.argv.slice(2), {
    root: ROOT,
    cwd: process.env.INIT_CWD ?? process.cwd(),
  });
  const settings = readStartSettings(options, process.env);
  const isRoot = process.getuid?.() === 0;
  const progress = createProgress();
  const folders = chooseFolders({ root: options.root, data: settings.values.FAIRLEAD_DATA_DIR, isRoot });
  await clearLeftovers(folders, progress);
  if (options.reset) await reset(options, settings, folders);
  await requireFreePorts(settings, await neededPorts(folders));
  openData(folders);

  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort());
  await progress.step('database client', (detail) => generateClient(detail));
  const [agentBinary] = await Promise.all([
    options.agent ?? progress.step('agent', (detail) => buildAgent(detail)),
    progress.step('web app', (detail) => buildWeb(detail)),
  ]);
  if (stop.signal.aborted) return;

  enableCompileCache(folders.compileCache);
  const supervisor = new Supervisor({ logDir: folders.logs, recordFile: folders.record, note: progress.note });
  const { serve } = await import('./serve.ts');
  await serve({
    options,
    settings,
    folders,
    supervisor,
    progress,
    agentBinary,
    webServer: WEB_SERVER,
    startedAt,
    signal: stop.signal,
  }).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
}

async function clearLeftovers(folders: ChosenFolders, progress: Progress): Promise<void> {
  const leftovers = await endLeftovers(folders.record);
  if (leftovers.kind === 'running' && isAlive(leftovers.supervisor)) {
    throw new StartRefused(
      `Fairlead already runs on ${folders.data} (process ${leftovers.supervisor.pid}): stop it first, or choose another --data and other ports`,
    );
  }
  if (leftovers.kind === 'ended')
    progress.note(`  ok ended what an earlier start had left running: ${leftovers.names.join(', ')}`);
}

async function neededPorts(folders: ChosenFolders): Promise<PortName[]> {
  const names: PortName[] = ['web', 'gateway', 'source'];
  // A proxy that outlived its agent holds these ports, and the new agent adopts it.
  if (!(await hasLivingProxy(folders.agent))) names.push('https', 'http');
  // The embedded PostgreSQL checks its own port: a listener there may be a leftover that it stops first.
  return names;
}

async function reset(options: Options, { given }: StartSettings, folders: ChosenFolders): Promise<void> {
  if (given.DATABASE_URL !== undefined) {
    throw new StartRefused(
      '--reset deletes the embedded database only, and DATABASE_URL is set: empty that database yourself, then delete the --data folder',
    );
  }
  if (!isData(folders.data)) return;
  if (!options.yes) {
    if (!process.stdin.isTTY)
      throw new StartRefused('--reset asks first and there is no terminal to answer on: add --yes');
    const ask = createInterface({ input: process.stdin, output: process.stdout });
    const answer = await ask.question(
      `This deletes all apps, deployments, metrics and accounts in ${folders.data}. Type "yes" to go on: `,
    );
    ask.close();
    if (answer.trim() !== 'yes') throw new StartRefused('nothing was deleted');
  }
  if (await hasLivingProxy(folders.agent)) {
    throw new StartRefused(
      'apps of an earlier start still run: start once without --reset and stop with Ctrl-C, so that they end, then reset',
    );
  }
  rmSync(folders.data, { recursive: true });
}

main().catch((error: unknown) => {
  const expected =
    EXPECTED.some((kind) => error instanceof kind) || (error instanceof Error && EXPECTED_NAMES.has(error.name));
  console.error(expected ? `fairlead: ${(error as Error).message}` : error);
  process.exit(1);
});
