// The control plane's own secrets: files that only its user can read, made once. Must never print one, nor pass one as an
// argument.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Folders } from './folders.ts';

export interface SecretFiles {
  readonly authSecret: string;
  readonly internalToken: string;
  /** Wraps the keys of stored secrets. Whoever runs Fairlead backs it up apart from the database. */
  readonly masterKey: string;
}

export function openSecrets(folders: Folders): SecretFiles {
  // The owner may keep it elsewhere, on a disk of its own or a mounted secret; then none is made here.
  const masterKey = process.env.FAIRLEAD_MASTER_KEY_FILE ?? makeMasterKey(join(folders.secrets, 'master-key'));
  return {
    authSecret: makeOnce(join(folders.secrets, 'auth-secret')),
    internalToken: makeOnce(join(folders.secrets, 'internal-token')),
    masterKey,
  };
}

function makeOnce(file: string): string {
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  chmodSync(file, 0o600);
  return file;
}

/** Never made private again: others may have read it, and the processes that open it say so and stop. */
function makeMasterKey(file: string): string {
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  return file;
}
