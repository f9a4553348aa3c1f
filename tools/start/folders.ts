// Selects the data folder. Invariant: as root, other users can traverse it, because PostgreSQL and the apps run as
// users of their own.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findRelease } from '../lib/release.ts';

export interface Folders {
  readonly data: string;
  readonly postgres: string;
  readonly secrets: string;
  /** Files of a backup until it is packed. */
  readonly backup: string;
  readonly signingKeys: string;
  readonly logs: string;
  readonly logStore: string;
  readonly agent: string;
  /** Unix sockets of gateway and web, in the local agent's folder, which its proxy can enter. */
  readonly controlSockets: string;
  /** Certificate authorities of public URLs, which the local agent creates, in a folder for each host. */
  readonly controlAuthorities: string;
  readonly bin: string;
  readonly runtime: string;
  readonly source: string;
  /** Node's compile cache of the services. */
  readonly compileCache: string;
  /** Node's compile cache of the start. Its files are programs, so only the start's own user writes them. */
  readonly startCache: string;
  readonly record: string;
}

export interface ChosenFolders extends Folders {
  /** Closed folder that data would be in by default; undefined if it is not closed. */
  readonly insteadOf: string | undefined;
}

export class FolderError extends Error {}

const MARK = 'fairlead.json';
/** Folder in a data folder for building a dump; in an archive it holds the manifest and the tables. */
const STAGING = 'backup';
/** Default data folder of an installed release. The agent of a server that only runs apps has /var/lib/fairlead. */
export const DATA_INSTALLED = '/var/lib/fairlead-control-plane';

export interface FolderWish {
  readonly root: string;
  /** Folder from the options; undefined selects one automatically. */
  readonly data: string | undefined;
  readonly isRoot: boolean;
}

export function chooseFolders({ root, data, isRoot }: FolderWish): ChosenFolders {
  const wanted = data ?? (findRelease(root) === undefined ? join(root, '.fairlead') : DATA_INSTALLED);
  const closed = isRoot ? closedFolder(wanted) : undefined;
  if (closed === undefined) return { ...layOut(wanted), insteadOf: undefined };
  if (data !== undefined) {
    throw new FolderError(
      `${closed} is closed to other users, but PostgreSQL and apps run as users of their own: choose another --data, for example under /var/lib`,
    );
  }
  const name = createHash('sha256').update(root).digest('hex').slice(0, 8);
  return { ...layOut(`/var/lib/fairlead-${name}`), insteadOf: closed };
}

export function layOut(data: string): Folders {
  return {
    data,
    postgres: join(data, 'postgres'),
    secrets: join(data, 'secrets'),
    backup: join(data, STAGING),
    signingKeys: join(data, 'secrets/signing-keys'),
    logs: join(data, 'logs'),
    logStore: join(data, 'log-store'),
    agent: join(data, 'agent'),
    controlSockets: join(data, 'agent/control'),
    controlAuthorities: join(data, 'agent/control-ca'),
    bin: join(data, 'bin'),
    runtime: join(data, 'runtime'),
    source: join(data, 'source'),
    compileCache: join(data, 'cache/node'),
    startCache: join(data, 'cache/start'),
    record: join(data, 'run/processes.json'),
  };
}

/** Returns the topmost parent of `path` that other users may not traverse. */
export function closedFolder(path: string): string | undefined {
  const above = dirname(path) === path ? undefined : closedFolder(dirname(path));
  if (above !== undefined) return above;
  const info = statSync(path, { throwIfNoEntry: false });
  return info?.isDirectory() && (info.mode & 0o001) === 0 ? path : undefined;
}

/** Creates the data folder, or refuses one with other contents. */
export function openData(folders: Folders): void {
  const mark = join(folders.data, MARK);
  const exists = existsSync(folders.data);
  if (exists && !existsSync(mark) && !isEmptyFolder(folders.data)) {
    throw new FolderError(`${folders.data} holds something else than Fairlead's data: choose another --data`);
  }
  try {
    // 711: apps and PostgreSQL traverse to their own folders and list nothing else.
    mkdirSync(folders.data, { recursive: true, mode: 0o711 });
    for (const folder of [
      folders.secrets,
      folders.signingKeys,
      folders.logs,
      folders.logStore,
      folders.source,
      folders.compileCache,
      folders.startCache,
    ]) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    }
    for (const folder of [folders.agent, folders.bin, folders.runtime])
      mkdirSync(folder, { recursive: true, mode: 0o711 });
    mkdirSync(folders.controlSockets, { recursive: true, mode: 0o700 });
    if (!existsSync(mark)) writeFileSync(mark, `${JSON.stringify({ format: 1 })}\n`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC') throw new FolderError(`the disk of ${folders.data} is full: make room first`);
    if (code === 'EACCES' || code === 'EROFS')
      throw new FolderError(`${folders.data} cannot be written: choose another --data`);
    throw error;
  }
}

export function isData(folder: string): boolean {
  return existsSync(join(folder, MARK));
}

function isEmptyFolder(folder: string): boolean {
  return statSync(folder).isDirectory() && readdirSync(folder).length === 0;
}
