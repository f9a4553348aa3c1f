// Backs up a control plane, running or not: the keys in one file, everything else in another, so that they can be
// stored apart. Only the recovery key opens them; this machine does not store it.
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { dumpTables } from '@fairlead/db/dump';
import type { Folders } from '../start/folders.ts';
import { ArchiveError, newRecoveryKey, pack } from './archive.ts';
import { DATABASE, MANIFEST, type Manifest, STAGING } from './manifest.ts';

export interface BackupOptions {
  readonly folders: Folders;
  readonly databaseUrl: string;
  /** Folder for both files. */
  readonly to: string;
  readonly now: Date;
  /** Gets the identity of a new recovery key, once; it is stored nowhere else. */
  readonly onNewRecoveryKey: (identity: string) => void;
}

export interface Backup {
  readonly dataFile: string;
  readonly keysFile: string;
  readonly tables: number;
}

export async function backUp(options: BackupOptions): Promise<Backup> {
  const { folders, now } = options;
  const recipient = await openRecipient(options);
  mkdirSync(options.to, { recursive: true, mode: 0o700 });
  const name = `fairlead-${now.toISOString().replace(/[:.]/g, '-')}`;
  const dataFile = join(options.to, `${name}.data.age`);
  const keysFile = join(options.to, `${name}.keys.age`);
  const staging = openStaging(folders);
  try {
    mkdirSync(join(staging, DATABASE));
    const database = await dumpTables(options.databaseUrl, (table) =>
      createWriteStream(join(staging, DATABASE, table), { mode: 0o600 }),
    );
    const manifest: Manifest = { format: 1, madeAt: now.toISOString(), database };
    writeFileSync(join(staging, MANIFEST), JSON.stringify(manifest), { mode: 0o600 });
    // A log chunk is on disk before the row that names it, so the files on disk cover the rows of the dump.
    await pack(folders.data, [basename(staging), basename(folders.logStore)], dataFile, recipient);
    const keys = [folders.secrets, folders.controlAuthorities].filter((folder) => existsSync(folder));
    await pack(
      folders.data,
      keys.map((folder) => relative(folders.data, folder)),
      keysFile,
      recipient,
    );
    return { dataFile, keysFile, tables: database.tables.length };
  } finally {
    rmSync(staging, { recursive: true });
  }
}

function openStaging(folders: Folders): string {
  const staging = join(folders.data, STAGING);
  try {
    mkdirSync(staging, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new ArchiveError(`another backup is being made. If none is, it was cut off: delete ${staging}`);
  }
  return staging;
}

async function openRecipient({ folders, onNewRecoveryKey }: BackupOptions): Promise<string> {
  const file = join(folders.secrets, 'recovery-recipient');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const key = await newRecoveryKey();
  onNewRecoveryKey(key.identity);
  writeFileSync(file, `${key.recipient}\n`, { mode: 0o600, flag: 'wx' });
  return key.recipient;
}
