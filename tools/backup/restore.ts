// Restores a control plane into a data folder that has none, and migrates the database. Starts a new epoch, so that
// agents accept its state however far ahead of the backup they are.
import { createReadStream, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import type { Log } from '@fairlead/core/kernel';
import { restoreTables } from '@fairlead/db/dump';
import { migrate } from '@fairlead/db/migrate';
import { ROOT } from '../lib/command.ts';
import type { Folders } from '../start/folders.ts';
import { ArchiveError, unpack } from './archive.ts';
import { beginEpoch } from './begin-epoch.ts';
import { DATABASE, MANIFEST, type Manifest, manifestSchema } from './manifest.ts';

export interface RestoreOptions {
  /** Existing folders without a control plane. */
  readonly folders: Folders;
  /** URL of an empty database. */
  readonly databaseUrl: string;
  readonly dataFile: string;
  readonly keysFile: string;
  readonly recoveryKey: string;
  readonly log: Log;
}

export interface Restored {
  readonly madeAt: Date;
  readonly servers: number;
}

const MIGRATIONS = join(ROOT, 'prisma/migrations');

export async function restore(options: RestoreOptions): Promise<Restored> {
  const { folders, databaseUrl } = options;
  requireNoKeys(folders);
  await unpack(
    options.dataFile,
    folders.data,
    [basename(folders.backup), basename(folders.logStore)],
    options.recoveryKey,
  );
  const staging = folders.backup;
  const manifest = readManifest(staging);
  const { migrations } = manifest.database;
  const quiet = () => undefined;
  await migrate({ url: databaseUrl, dir: MIGRATIONS, log: quiet, until: migrations.at(-1) ?? '' });
  await restoreTables(databaseUrl, manifest.database, (table) => createReadStream(join(staging, DATABASE, table)));
  await migrate({ url: databaseUrl, dir: MIGRATIONS, log: quiet });
  const servers = await beginEpoch({ ...options, backupMadeAt: new Date(manifest.madeAt) });
  rmSync(staging, { recursive: true });
  // Unpack keys last: a folder with keys counts as complete.
  const keys = [folders.secrets, folders.controlAuthorities].map((folder) => relative(folders.data, folder));
  await unpack(options.keysFile, folders.data, keys, options.recoveryKey);
  return { madeAt: new Date(manifest.madeAt), servers };
}

/** Throws if there are keys, which are never overwritten: they may be the only ones that open something. */
function requireNoKeys(folders: Folders): void {
  const found = existsSync(folders.secrets)
    ? readdirSync(folders.secrets, { recursive: true, withFileTypes: true }).find((entry) => entry.isFile())
    : undefined;
  if (found === undefined) return;
  throw new ArchiveError(
    `${folders.data} holds a control plane with keys of its own: restore into another --data folder`,
  );
}

function readManifest(staging: string): Manifest {
  const manifest = manifestSchema.safeParse(JSON.parse(readFileSync(join(staging, MANIFEST), 'utf8')));
  if (!manifest.success)
    throw new ArchiveError('this backup was made by a version of Fairlead that this one does not know');
  const known = new Set(readdirSync(MIGRATIONS));
  const newer = manifest.data.database.migrations.find((name) => !known.has(name));
  if (newer !== undefined) {
    throw new ArchiveError(
      `this backup was made by a newer Fairlead (it has the migration ${newer}): update this clone first`,
    );
  }
  return manifest.data;
}
