// Backs up a control plane, running or not: the keys in one file, everything else in another, so that they can be
// stored apart. Only the recovery key opens them; this machine does not store it.
import {
  accessSync,
  constants,
  createWriteStream,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { dumpTables } from '@fairlead/db/dump';
import { busy, withLock } from '@fairlead/db/lock';
import type { Folders } from '../start/folders.ts';
import { masterKeyOf } from '../start/secrets.ts';
import { ArchiveError, type ForeignFile, newRecoveryKey, pack } from './archive.ts';
import { DATABASE, MANIFEST, type Manifest } from './manifest.ts';
import { withOwnFolder } from './own-folder.ts';

export interface BackupOptions {
  readonly folders: Folders;
  readonly databaseUrl: string;
  /** Folder for both files. */
  readonly to: string;
  readonly now: Date;
  /** File of the master key, if it is not in the folder of secrets. */
  readonly masterKeyFile?: string | undefined;
  /** Public recovery key. Default: that of earlier backups, or of a new recovery key. */
  readonly recipient?: string | undefined;
  /** Gets the identity of a new recovery key, once; it is stored nowhere else. */
  readonly onNewRecoveryKey: (identity: string) => void;
}

export interface Backup {
  readonly dataFile: string;
  readonly keysFile: string;
  readonly tables: number;
  /** Bytes of both files. */
  readonly sizeBytes: number;
}

/** Throws an ArchiveError if another backup is being made, if this one would lack the master key, or if its folder is unfit. */
export async function backUp(options: BackupOptions): Promise<Backup> {
  const { folders, now } = options;
  requireOutside(folders, options.to);
  const masterKey = requireMasterKey(options);
  const recipient = await openRecipient(options);
  mkdirSync(options.to, { recursive: true, mode: 0o700 });
  // A folder that is read-only is found before the database is copied.
  accessSync(options.to, constants.W_OK);
  const name = `fairlead-${now.toISOString().replace(/[:.]/g, '-')}`;
  const dataFile = join(options.to, `${name}.data.age`);
  const keysFile = join(options.to, `${name}.keys.age`);
  const staging = folders.backup;
  const write = async (): Promise<Backup> => {
    // Only a backup that was killed leaves a staging folder behind, because this one holds the lock.
    emptyFolder(staging);
    mkdirSync(join(staging, DATABASE), { recursive: true, mode: 0o700 });
    const database = await dumpTables(options.databaseUrl, (table) =>
      createWriteStream(join(staging, DATABASE, table), { mode: 0o600 }),
    );
    const manifest: Manifest = { format: 1, madeAt: now.toISOString(), database };
    writeFileSync(join(staging, MANIFEST), JSON.stringify(manifest), { mode: 0o600 });
    // A log chunk is on disk before the row that names it, so the files on disk cover the rows of the dump.
    await pack(folders.data, [basename(staging), basename(folders.logStore)], dataFile, recipient);
    const keys = [folders.secrets, folders.controlAuthorities].filter((folder) => existsSync(folder));
    const entries = keys.map((folder) => relative(folders.data, folder));
    await pack(folders.data, entries, keysFile, recipient, masterKey);
    const sizeBytes = statSync(dataFile).size + statSync(keysFile).size;
    return { dataFile, keysFile, tables: database.tables.length, sizeBytes };
  };
  try {
    const made = await withLock(options.databaseUrl, 'backup', () =>
      withOwnFolder(staging, () => write().finally(() => emptyFolder(staging))),
    );
    if (made === busy) throw new ArchiveError('another backup is being made');
    return made;
  } catch (error) {
    // Half a backup would count as one.
    for (const file of [dataFile, keysFile]) rmSync(file, { force: true });
    throw error;
  }
}

/** Keeps the folder itself: the user of the worker can't make it. */
function emptyFolder(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

/** Throws if the folder is inside the data folder: each backup would hold those before it, and be lost with the data. */
function requireOutside(folders: Folders, to: string): void {
  const path = relative(resolve(folders.data), resolve(to));
  if (path.split('/')[0] === '..') return;
  throw new ArchiveError(`${to} is inside the data folder: choose a folder outside of it, best on another disk`);
}

/** Returns the master key if it is outside of the folder of secrets, and throws if there is none. */
function requireMasterKey({ folders, masterKeyFile }: BackupOptions): ForeignFile | undefined {
  const own = masterKeyOf(folders);
  if (masterKeyFile !== undefined && masterKeyFile !== own)
    return { as: relative(folders.data, own), from: masterKeyFile };
  if (existsSync(own)) return undefined;
  throw new ArchiveError(
    `the backup would lack the master key: ${own} does not exist. If it is elsewhere, set master_key_file`,
  );
}

async function openRecipient({ folders, recipient, onNewRecoveryKey }: BackupOptions): Promise<string> {
  if (recipient !== undefined) return recipient;
  const file = join(folders.secrets, 'recovery-recipient');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const key = await newRecoveryKey();
  onNewRecoveryKey(key.identity);
  writeFileSync(file, `${key.recipient}\n`, { mode: 0o600, flag: 'wx' });
  // Root makes it for the worker, whose user may put a link in its place meanwhile.
  const { uid, gid } = statSync(folders.secrets);
  lchownSync(file, uid, gid);
  return key.recipient;
}

const backupFile = /^(fairlead-[0-9TZ-]+)\.(data|keys)\.age(\.partial)?$/;

/**
 * Deletes all but the `keep` newest backups of a folder, and what a killed backup left before them; returns the number of
 * deleted backups.
 */
export function pruneBackups(folder: string, keep: number): number {
  const files = readdirSync(folder).flatMap((file) => {
    const [, name, part, partial] = backupFile.exec(file) ?? [];
    return name === undefined ? [] : [{ name, part, isWhole: partial === undefined, file }];
  });
  const has = (name: string, part: string) =>
    files.some((file) => file.name === name && file.part === part && file.isWhole);
  const whole = [...new Set(files.map(({ name }) => name))].filter((name) => has(name, 'data') && has(name, 'keys'));
  // The time is in the name.
  const kept = new Set(whole.sort().reverse().slice(0, keep));
  const [newest] = kept;
  if (newest === undefined) return 0;
  // Anything newer belongs to a backup that is being made.
  const old = files.filter(({ name }) => name < newest && !kept.has(name));
  for (const { file } of old) rmSync(join(folder, file));
  return whole.length - kept.size;
}
