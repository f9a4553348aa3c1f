// User of web, gateway and worker in an installation. The start stays root, because it starts the local agent, and PostgreSQL as
// a user of its own. Invariant: this user owns no folder from which root runs a program.
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Given } from '@fairlead/settings';
import type { Folders } from './folders.ts';

export interface ServiceUser {
  readonly uid: number;
  readonly gid: number;
}

export class ServiceUserError extends Error {}

/** Throws if there is no such user. */
export function findServiceUser(name: string, passwd = readFileSync('/etc/passwd', 'utf8')): ServiceUser {
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([each]) => each === name);
  if (fields === undefined)
    throw new ServiceUserError(`there is no user ${name}: run install.sh of this release again`);
  return { uid: Number(fields[2]), gid: Number(fields[3]) };
}

/**
 * Gives the user what its processes write and read: also after a restore, a manual backup, or a version that ran them as root.
 * Call it before any of them runs.
 */
export function giveData(folders: Folders, settings: Given, user: ServiceUser): void {
  const { FAIRLEAD_BACKUP_FOLDER: backups, FAIRLEAD_ARTIFACT_STORE_DIR: artifacts } = settings;
  for (const folder of [folders.backup, ...[artifacts].filter((each) => each !== undefined)])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Its parent belongs to root.
  chmodSync(dirname(folders.compileCache), 0o711);
  // Small, and single files in them may be new.
  for (const folder of [folders.secrets, folders.backup]) giveTree(folder, user);
  for (const folder of [folders.logStore, folders.compileCache, artifacts])
    if (folder !== undefined && statSync(folder).uid !== user.uid) giveTree(folder, user);
  if (backups !== undefined) giveBackups(backups, user);
  // Secrets outside of the data folder, which only their owner may read.
  for (const file of [settings.FAIRLEAD_MASTER_KEY_FILE, settings.FAIRLEAD_SMTP_URL_FILE])
    if (file !== undefined && existsSync(file) && statSync(file).uid !== user.uid) giveSecret(file, user);
}

/** Follows a link of the operator, and none that the user could have made. */
function giveSecret(file: string, { uid, gid }: ServiceUser): void {
  if (statSync(dirname(file)).uid === uid) lchownSync(file, uid, gid);
  else chownSync(file, uid, gid);
}

/** Lets the user create sockets in the folder, whose group is the proxy's. The agent makes root its owner when it starts. */
export function giveSockets(folders: Folders, { uid }: ServiceUser): void {
  chownSync(folders.controlSockets, uid, statSync(folders.controlSockets).gid);
}

/** Lets the user read the authorities of public URLs, for downloads and backups. Root stays their owner. */
export function shareAuthorities(folders: Folders, { gid }: ServiceUser): void {
  if (!existsSync(folders.controlAuthorities)) return;
  const names = readdirSync(folders.controlAuthorities, { recursive: true, encoding: 'utf8' });
  for (const path of [folders.controlAuthorities, ...names.map((name) => join(folders.controlAuthorities, name))]) {
    const info = statSync(path);
    chownSync(path, info.uid, gid);
    chmodSync(path, info.isDirectory() ? 0o750 : 0o640);
  }
}

/** Leaves other files in the folder alone. */
function giveBackups(folder: string, { uid, gid }: ServiceUser): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (statSync(folder).uid === uid) return;
  for (const name of readdirSync(folder).filter((each) => /^fairlead-.*\.age(\.partial)?$/.test(each)))
    lchownSync(join(folder, name), uid, gid);
  chownSync(folder, uid, gid);
}

/**
 * Changes a folder after what is in it, so that an interrupted change is repeated. Enters folders by descriptor, because
 * processes of the user may outlive the services and put links in their place meanwhile.
 */
function giveTree(path: string, user: ServiceUser): void {
  const folder = openFolder(path);
  if (folder !== undefined) {
    try {
      const inside = `/proc/self/fd/${folder}`;
      for (const name of readdirSync(inside)) giveTree(join(inside, name), user);
    } finally {
      closeSync(folder);
    }
  }
  lchownSync(path, user.uid, user.gid);
}

/** Returns undefined for what is no folder, such as a link to one. */
function openFolder(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR' || code === 'ELOOP') return undefined;
    throw error;
  }
}
