// Files and rows of the control plane's signing keys: the private half is a file that only this process's user can
// read, the public half is a row. Invariant: never replaces a key by itself, because agents pin the public half at
// enrolment.
import type { KeyObject } from 'node:crypto';
import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isId, newId } from '@fairlead/contract/ids';
import { keyBytes, privateKeyFromSeed, publicKeyBytes } from '@fairlead/contract/signing';

export interface SigningKey {
  readonly keyId: string;
  readonly publicKey: Uint8Array<ArrayBuffer>;
  readonly privateKey: KeyObject;
}

const suffix = '.key';

/** Reads every key in the folder and returns them by id. Rejects files that are not keys or that others may read. */
export async function readKeys(dir: string): Promise<ReadonlyMap<string, SigningKey>> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chmod(dir, 0o700);
  const keys = new Map<string, SigningKey>();
  for (const name of (await readdir(dir)).filter((entry) => entry.endsWith(suffix))) {
    const keyId = name.slice(0, -suffix.length);
    const path = join(dir, name);
    if (!isId('key', keyId)) throw new Error(`${path} is not named like a signing key`);
    const seed = await readPrivate(path);
    if (seed.length !== keyBytes) throw new Error(`${path} is not a signing key of ${keyBytes} bytes`);
    keys.set(keyId, signingKey(keyId, seed));
  }
  return keys;
}

/**
 * Rejects a key file with loose permissions and never tightens them: others may have read it, and its holder commands
 * every agent.
 */
async function readPrivate(path: string): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { mode } = await file.stat();
    if ((mode & 0o077) !== 0) {
      throw new Error(
        `${path} can be read by others. If no one else read it, restrict it to its owner (chmod 600); ` +
          'otherwise this control plane needs a new signing key.',
      );
    }
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Creates a key and its file; the file is complete and on disk when the promise resolves. */
export async function makeKey(dir: string): Promise<SigningKey> {
  const keyId = newId('key');
  const seed = randomBytes(keyBytes);
  const path = join(dir, `${keyId}${suffix}`);
  const partial = `${path}.partial`;
  const file = await open(partial, 'wx', 0o600);
  try {
    await file.writeFile(seed);
    await file.sync();
  } finally {
    await file.close();
  }
  // link() never replaces a file: two gateways that start at once can't overwrite each other's.
  await link(partial, path);
  await rm(partial);
  return signingKey(keyId, seed);
}

function signingKey(keyId: string, seed: Uint8Array): SigningKey {
  const privateKey = privateKeyFromSeed(seed);
  return { keyId, privateKey, publicKey: publicKeyBytes(privateKey) };
}
