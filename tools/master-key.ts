// `npm run master-key -- rotate` adds a new master key and wraps every data key with it while the control plane runs;
// `-- prune` removes unused keys, which older backups still need. Invariant: never prints a key.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type SystemCtx, systemClock } from '@fairlead/core/kernel';
import {
  addMasterKey,
  createSecretKeys,
  listMasterKeysInUse,
  openMasterKeyFile,
  pruneMasterKeys,
  rotateValues,
} from '@fairlead/core/secret';
import { createDatabase } from '@fairlead/db';
import { operatorSettings, SettingsError } from '@fairlead/settings/load';
import { ROOT } from './lib/command.ts';
import { findRelease, nameCommands } from './lib/release.ts';
import { NotRunning, requireRunningDatabase } from './lib/running-database.ts';
import { chooseFolders } from './start/folders.ts';

const HELP = `Usage: npm run master-key -- rotate|prune [--data DIR]

rotate puts a new master key in front of the file and wraps every data key with it. prune takes keys out of the file that
wrap nothing any more; backups of the database from before need them. Run it beside the control plane.

  --data DIR   the folder that npm start was given (default: as npm start chooses it)

It reads the settings of the environment and of the settings file, as npm start does (docs/settings.md).
`;

const log = { debug: () => undefined, info: () => undefined, warn: console.warn, error: console.error };

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { data: { type: 'string' }, help: { type: 'boolean', short: 'h', default: false } },
  });
  const [task] = positionals;
  if (values.help || (task !== 'rotate' && task !== 'prune')) {
    process.stdout.write(nameCommands(HELP, findRelease(ROOT) !== undefined));
    process.exitCode = values.help ? 0 : 1;
    return;
  }
  const settings = operatorSettings();
  const data = values.data ?? settings.FAIRLEAD_DATA_DIR;
  const folders = chooseFolders({ root: ROOT, data, isRoot: process.getuid?.() === 0 });
  const file = settings.FAIRLEAD_MASTER_KEY_FILE ?? join(folders.secrets, 'master-key');
  const url = await requireRunningDatabase(folders, settings);
  const database = createDatabase({ url, poolMax: 2, applicationName: 'fairlead-master-key' });
  const inSystem = <T>(work: (ctx: SystemCtx) => Promise<T>) =>
    database.system('master key', (tx) => work({ tx, clock: systemClock, log }));
  try {
    if (task === 'rotate') await rotate(file, inSystem);
    else await prune(file, inSystem);
  } finally {
    await database.close();
  }
}

type InSystem = <T>(work: (ctx: SystemCtx) => Promise<T>) => Promise<T>;

async function rotate(file: string, inSystem: InSystem): Promise<void> {
  const keys = createSecretKeys(await openMasterKeyFile(file));
  console.log(`  ok the new master key is ${await addMasterKey(file)}: back ${file} up now`);
  let wrapped = 0;
  for (;;) {
    const { rewrapped, reencrypted } = await inSystem((ctx) => rotateValues(ctx, keys));
    wrapped += rewrapped;
    if (rewrapped + reencrypted === 0) break;
  }
  console.log(`  ok ${wrapped} data keys are wrapped with it`);
}

async function prune(file: string, inSystem: InSystem): Promise<void> {
  const gone = await pruneMasterKeys(file, await inSystem((ctx) => listMasterKeysInUse(ctx)));
  console.log(gone.length === 0 ? '  ok every key of the file is in use' : `  ok taken out: ${gone.join(', ')}`);
}

main().catch((error: unknown) => {
  const isExpected =
    error instanceof NotRunning || error instanceof SettingsError || (error instanceof Error && 'code' in error);
  console.error(isExpected ? `fairlead: ${(error as Error).message}` : error);
  process.exit(1);
});
