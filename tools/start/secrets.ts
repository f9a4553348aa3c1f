// Secret files of the control plane, created once and readable by its user only. Invariant: never printed, and never
// passed as an argument.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Folders } from './folders.ts';

export interface SecretFiles {
  readonly authSecret: string;
  readonly internalToken: string;
  /** Master key that wraps the keys of stored secrets. The operator backs it up separately from the database. */
  readonly masterKey: string;
}

export function openSecrets(folders: Folders, masterKeyFile: string | undefined): SecretFiles {
  // The operator may store it elsewhere, on a separate disk or as a mounted secret; then none is created here.
  const masterKey = masterKeyFile ?? makeMasterKey(join(folders.secrets, 'master-key'));
  return {
    authSecret: ensureSecretFile(join(folders.secrets, 'auth-secret')),
    internalToken: ensureSecretFile(join(folders.secrets, 'internal-token')),
    masterKey,
  };
}

function ensureSecretFile(file: string): string {
  if (!existsSync(file)) createSecret(file);
  chmodSync(file, 0o600);
  return file;
}

/** Never fixes loose permissions: others may have read the key. Processes that open it report that and stop. */
function makeMasterKey(file: string): string {
  if (!existsSync(file)) createSecret(file);
  return file;
}

/** The file is whole or absent: a full disk must not leave an empty secret, which later starts would keep. */
function createSecret(file: string): void {
  writeFileSync(`${file}.new`, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
