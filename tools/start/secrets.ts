// The control plane's own secrets: files that only its user can read, made once. Must never print one, nor pass one as an
// argument.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Folders } from './folders.ts';

export interface SecretFiles {
  readonly authSecret: string;
  readonly internalToken: string;
}

export function openSecrets(folders: Folders): SecretFiles {
  return {
    authSecret: makeOnce(join(folders.secrets, 'auth-secret')),
    internalToken: makeOnce(join(folders.secrets, 'internal-token')),
  };
}

function makeOnce(file: string): string {
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  chmodSync(file, 0o600);
  return file;
}
