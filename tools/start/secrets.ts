// Secret files of the control plane, created once and readable by its user only. Invariant: never printed, and never
// passed as an argument. Their folder may belong to the user of the services, so root follows no link in it.
import { randomBytes } from 'node:crypto';
import { closeSync, constants, existsSync, fchmodSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FolderError, type Folders } from './folders.ts';

export interface SecretFiles {
  readonly authSecret: string;
  readonly internalToken: string;
  /** Master key that wraps the keys of stored secrets. The operator backs it up separately from the database. */
  readonly masterKey: string;
}

export function openSecrets(folders: Folders, masterKeyFile: string | undefined): SecretFiles {
  // The operator may store it elsewhere, on a separate disk or as a mounted secret; then none is created here.
  const masterKey = masterKeyFile ?? makeMasterKey(masterKeyOf(folders));
  return {
    authSecret: ensureSecretFile(join(folders.secrets, 'auth-secret')),
    internalToken: ensureSecretFile(join(folders.secrets, 'internal-token')),
    masterKey,
  };
}

/** Returns the default place of the master key. */
export function masterKeyOf(folders: Folders): string {
  return join(folders.secrets, 'master-key');
}

function ensureSecretFile(file: string): string {
  if (!existsSync(file)) createSecret(file);
  const opened = openPlain(file);
  fchmodSync(opened, 0o600);
  closeSync(opened);
  return file;
}

function openPlain(file: string): number {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
    throw new FolderError(`${file} is a link: put the file itself there`);
  }
}

/** Never fixes loose permissions: others may have read the key. Processes that open it report that and stop. */
function makeMasterKey(file: string): string {
  if (!existsSync(file)) createSecret(file);
  return file;
}

/** The file is whole or absent: a full disk must not leave an empty secret, which later starts would keep. */
function createSecret(file: string): void {
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(`${file}.new`, file);
}
