// Prepares folders and ports, lets the caller build or find the programs, then runs serve.ts. `npm start` and a release
// share it. Every expected failure ends as one clear line.
import { rmSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { createInterface } from 'node:readline/promises';
import { isAlive } from '../lib/process-identity.ts';
import { type ChosenFolders, chooseFolders, FolderError, isData, openData } from './folders.ts';
import { EnrolmentFailed, hasLivingProxy } from './local-agent.ts';
import { type Options, OptionsError, type PortName } from './options.mjs';
import { PortTaken, requireFreePorts } from './ports.ts';
import { createProgress, type Progress } from './progress.ts';
import { findServiceUser, type ServiceUser, ServiceUserError } from './service-user.ts';
import { SourceError } from './source-mirror.ts';
import { readStartSettings, type StartSettings } from './start-settings.ts';
import { endLeftovers, ServiceFailed, Supervisor } from './supervisor.ts';

export interface Programs {
  /** Agent of this machine. */
  readonly agentBinary: string;
  /** Folder of agents that other servers can download; undefined offers this machine's agent. */
  readonly offeredAgents?: string;
  /** Script of the web server. */
  readonly webServer: string;
}

export interface LaunchPlan {
  readonly options: Options;
  /** True to serve the clone as a git repository and deploy the sample app from it. */
  readonly hasSample: boolean;
  /** Builds or finds the programs. */
  readonly prepare: (progress: Progress) => Promise<Programs>;
}

class StartRefused extends Error {}

/** Errors with a message for the user; any other error prints its stack. */
const EXPECTED = [
  EnrolmentFailed,
  FolderError,
  OptionsError,
  PortTaken,
  ServiceFailed,
  ServiceUserError,
  SourceError,
  StartRefused,
];
const EXPECTED_NAMES = new Set([
  'BuildFailed',
  'EmbeddedError',
  'MigrationError',
  'ServeFailed',
  'SettingsError',
  'UnsafeDatabaseError',
]);

/** Runs until a signal ends it. */
export async function launch({ options, hasSample, prepare }: LaunchPlan): Promise<void> {
  // Time of the first half of `npm start`, which installs.
  const startedAt = Number(process.env.FAIRLEAD_STARTED_MS ?? Date.now());
  const settings = readStartSettings(options, process.env);
  const isRoot = process.getuid?.() === 0;
  const progress = createProgress();
  const folders = chooseFolders({ root: options.root, data: settings.values.FAIRLEAD_DATA_DIR, isRoot });
  await clearLeftovers(folders, progress);
  if (options.reset) await reset(options, settings, folders);
  await requireFreePorts(settings, await neededPorts(folders, hasSample));
  openData(folders);

  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort());
  const programs = await prepare(progress);
  if (stop.signal.aborted) return;

  enableCompileCache(folders.startCache);
  const supervisor = new Supervisor({ logDir: folders.logs, recordFile: folders.record, note: progress.note });
  const { serve } = await import('./serve.ts');
  await serve({
    options,
    settings,
    folders,
    supervisor,
    progress,
    programs,
    installation: readInstallation(),
    hasSample,
    startedAt,
    signal: stop.signal,
  }).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
}

export interface Installation {
  /** Folder that it shares with its updater. */
  readonly updaterFolder?: string;
  /** User of the services. Default: that of the start. */
  readonly serviceUser?: ServiceUser;
}

/** Reads what the unit of the installer names. */
function readInstallation(): Installation {
  const { FAIRLEAD_UPDATER_DIR: updaterFolder = '', FAIRLEAD_SERVICE_USER: user = '' } = process.env;
  return {
    ...(updaterFolder === '' ? {} : { updaterFolder }),
    ...(user === '' ? {} : { serviceUser: findServiceUser(user) }),
  };
}

/** Prints an expected failure as one line and any other with its stack, then exits. */
export function exitOnFailure(error: unknown): never {
  const expected =
    EXPECTED.some((kind) => error instanceof kind) || (error instanceof Error && EXPECTED_NAMES.has(error.name));
  const isDiskFull = (error as NodeJS.ErrnoException | null)?.code === 'ENOSPC';
  if (isDiskFull) console.error('fairlead: the disk is full: make room first');
  else console.error(expected ? `fairlead: ${(error as Error).message}` : error);
  process.exit(1);
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

async function neededPorts(folders: ChosenFolders, hasSample: boolean): Promise<PortName[]> {
  const names: PortName[] = ['web', 'gateway'];
  if (hasSample) names.push('source');
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
      `This deletes all apps, deployments, metrics and accounts in ${folders.data}. Type "yes" to continue: `,
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
