// `npm run backup` and `npm run restore`: parses options and runs them. Every expected failure is one clear line.
import { readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { operatorSettings } from '@fairlead/settings/load';
import { ROOT } from '../lib/command.ts';
import { findRelease, nameCommands } from '../lib/release.ts';
import { chooseFolders, FolderError, openData } from '../start/folders.ts';
import { ArchiveError } from './archive.ts';
import { type Installation, withDatabase } from './database.ts';

const HELP = `Usage: npm run backup -- [--to DIR] [--data DIR] [--recovery-key FILE | --recipient age1…] [--keep N]
       npm run restore -- --from FILE.data.age --keys FILE.keys.age --recovery-key FILE [--data DIR]

backup writes two files into DIR, while Fairlead runs or not: the data (database and logs) and the keys. Keep them apart.
Both open only with the recovery key, which the first backup writes to --recovery-key FILE: keep it away from this machine.
--recipient encrypts for a recovery key that was made elsewhere. --keep deletes all but the N newest backups in DIR afterwards.
Without --to and --recipient, the settings backup.folder and backup.recipient apply.

restore fills an empty data folder; npm start then resumes from the backup, and every server accepts the restored control plane.

They read the settings of the environment and of the settings file, as npm start does (docs/settings.md).
`;

class UsageError extends Error {}

const EXPECTED = [ArchiveError, FolderError, UsageError];
const EXPECTED_NAMES = new Set(['EmbeddedError', 'MigrationError', 'SettingsError']);
const isRelease = findRelease(ROOT) !== undefined;
const quiet = { debug: () => undefined, info: () => undefined, warn: console.error, error: console.error };

async function main(): Promise<void> {
  const [verb, ...args] = process.argv.slice(2);
  const text = { type: 'string' } as const;
  const options = {
    data: text,
    to: text,
    from: text,
    keys: text,
    'recovery-key': text,
    recipient: text,
    keep: text,
    help: { type: 'boolean' },
  } as const;
  const { values } = readArguments(() => parseArgs({ args, options }));
  if (values.help) return void process.stdout.write(nameCommands(HELP, isRelease));
  const settings = operatorSettings();
  const data = values.data === undefined ? settings.FAIRLEAD_DATA_DIR : from(values.data);
  const folders = chooseFolders({ root: ROOT, data, isRoot: process.getuid?.() === 0 });
  const recoveryKey = values['recovery-key'];
  // A release brings the generated client.
  if (!isRelease) await (await import('../start/builds.ts')).generateClient(() => undefined);
  if (verb === 'backup') {
    const recipient = values.recipient ?? settings.FAIRLEAD_BACKUP_RECIPIENT;
    const keep = values.keep === undefined ? undefined : readCount(values.keep);
    const to = values.to === undefined ? settings.FAIRLEAD_BACKUP_FOLDER : from(values.to);
    return backup({ folders, settings }, { to: required(to, '--to'), recoveryKey, recipient, keep });
  }
  if (verb === 'restore') {
    return restore(
      { folders, settings },
      {
        dataFile: from(required(values.from, '--from')),
        keysFile: from(required(values.keys, '--keys')),
        recoveryKey: readFileSync(from(required(recoveryKey, '--recovery-key')), 'utf8'),
      },
    );
  }
  throw new UsageError('say backup or restore');
}

interface BackupOptions {
  readonly to: string;
  readonly recoveryKey: string | undefined;
  readonly recipient: string | undefined;
  readonly keep: number | undefined;
}

async function backup(installation: Installation, { to, recoveryKey, recipient, keep }: BackupOptions): Promise<void> {
  const { backUp, pruneBackups } = await import('./backup.ts');
  const { dataFile, keysFile, tables } = await withDatabase(installation, (databaseUrl) =>
    backUp({
      folders: installation.folders,
      databaseUrl,
      to,
      now: new Date(),
      masterKeyFile: installation.settings.FAIRLEAD_MASTER_KEY_FILE,
      recipient,
      onNewRecoveryKey: (identity) => {
        const file = from(required(recoveryKey, 'this is the first backup: --recovery-key'));
        writeFileSync(file, `${identity}\n`, { mode: 0o600, flag: 'wx' });
        console.log(`  ok recovery key in ${file}: move it to a safe place, nothing else opens the backups`);
      },
    }),
  );
  console.log(`  ok ${tables} tables and all logs in ${dataFile}`);
  console.log(`  ok the keys in ${keysFile}: keep it apart from the data`);
  if (keep !== undefined) console.log(`  ok ${pruneBackups(to, keep)} older backups deleted`);
}

interface RestoreFiles {
  readonly dataFile: string;
  readonly keysFile: string;
  readonly recoveryKey: string;
}

async function restore(installation: Installation, files: RestoreFiles): Promise<void> {
  const { folders } = installation;
  openData(folders);
  const { restore: run } = await import('./restore.ts');
  const { madeAt, servers } = await withDatabase(installation, (databaseUrl) =>
    run({ folders, databaseUrl, ...files, log: quiet }),
  );
  console.log(`  ok restored what was backed up at ${madeAt.toISOString()}: ${servers} servers, a new epoch`);
  console.log(nameCommands('  ok now run npm start', isRelease));
}

function readCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError('--keep must be a whole number from 1. See --help');
  return Number(text);
}

function required(value: string | undefined, option: string): string {
  if (value === undefined || value === '') throw new UsageError(`${option} is missing. See --help`);
  return value;
}

function readArguments<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('. ')[0]}. See --help`);
  }
}

/** npm runs scripts in the clone: resolve paths from the user's folder. */
function from(path: string): string {
  return isAbsolute(path) ? path : resolve(process.env.INIT_CWD ?? process.cwd(), path);
}

main().catch((error: unknown) => {
  const isExpected =
    EXPECTED.some((kind) => error instanceof kind) || (error instanceof Error && EXPECTED_NAMES.has(error.name));
  console.error(isExpected ? `fairlead: ${(error as Error).message}` : error);
  process.exit(1);
});
