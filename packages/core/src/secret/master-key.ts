// Master key, which wraps every organization's data key. The database never holds it: it is a file that only this
// process's user can read.
// Invariant: it never creates a missing key by itself, because values encrypted under a lost key are lost.
import { createHmac, randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { AppError } from '../kernel/index.ts';
import { type EnvelopeKey, keyBytes, openEnvelope, type Place, sealEnvelope } from './envelope.ts';

export interface WrappedKey {
  readonly keyId: string;
  readonly wrapped: Uint8Array<ArrayBuffer>;
}

export interface KeyWrapper {
  /** The id of the key that wraps from now on. */
  keyId(): Promise<string>;
  wrap(place: Place, plain: Uint8Array): Promise<WrappedKey>;
  /** With the key that wrapped it, also when that is not the one in use. Throws secret.undecryptable. */
  unwrap(place: Place, wrapped: WrappedKey): Promise<Uint8Array>;
}

/** Reads and checks the file once, so that a process without its master key does not start. */
export async function openMasterKeyFile(path: string): Promise<KeyWrapper> {
  let keys = await readMasterKeys(path);
  let readAtMs = await changedAtMs(path);

  /** Another process may have put a new key in front. */
  async function refresh(): Promise<readonly EnvelopeKey[]> {
    const atMs = await changedAtMs(path);
    if (atMs !== readAtMs) {
      keys = await readMasterKeys(path);
      readAtMs = atMs;
    }
    return keys;
  }

  return {
    keyId: async () => first(await refresh()).id,
    wrap: async (place, plain) => {
      const key = first(await refresh());
      return { keyId: key.id, wrapped: sealEnvelope(key, place, plain) };
    },
    unwrap: async (place, { keyId, wrapped }) => {
      const key = keys.find(({ id }) => id === keyId) ?? (await refresh()).find(({ id }) => id === keyId);
      if (key === undefined) throw new AppError('secret.undecryptable', { masterKeyId: keyId });
      return openEnvelope(key, place, wrapped);
    },
  };
}

/** Puts a new key in front of the file: it wraps from now on, the older ones still unwrap. Answers its id. */
export async function addMasterKey(path: string): Promise<string> {
  const keys = await readMasterKeys(path);
  const key = masterKey(randomBytes(keyBytes));
  await writeMasterKeys(path, [key, ...keys]);
  return key.id;
}

/** Takes keys that wrap nothing any more out of the file; the one in use stays. Answers the ids that went. */
export async function pruneMasterKeys(path: string, stillNeeded: ReadonlySet<string>): Promise<string[]> {
  const [current, ...older] = await readMasterKeys(path);
  const kept = older.filter(({ id }) => stillNeeded.has(id));
  await writeMasterKeys(path, [first([current]), ...kept]);
  return older.filter(({ id }) => !stillNeeded.has(id)).map(({ id }) => id);
}

/** One key a line, base64url of 32 bytes, the one in use first. */
async function readMasterKeys(path: string): Promise<readonly EnvelopeKey[]> {
  const { mode } = await stat(path).catch((cause: unknown) => {
    throw new Error(
      `the master key ${path} cannot be read. Restore it from its backup: without it no stored secret opens. ` +
        'Only a control plane that never held a secret may make a new one.',
      { cause },
    );
  });
  if ((mode & 0o077) !== 0) {
    throw new Error(
      `${path} can be read by others. If no one else read it, restrict it to its owner (chmod 600); ` +
        'otherwise rotate the master key.',
    );
  }
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  const keys = lines.map((line) => {
    const bytes = Buffer.from(line.trim(), 'base64url');
    // Never the line itself: it may be a key with a slip in it.
    if (bytes.length !== keyBytes) throw new Error(`${path} holds a line that is not a key of ${keyBytes} bytes`);
    return masterKey(bytes);
  });
  if (keys.length === 0) throw new Error(`${path} holds no key`);
  return keys;
}

async function writeMasterKeys(path: string, keys: readonly EnvelopeKey[]): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  const file = await open(partial, 'wx', 0o600);
  try {
    await file.writeFile(keys.map(({ bytes }) => `${Buffer.from(bytes).toString('base64url')}\n`).join(''));
    await file.sync();
    // Root rotates a key that the user of the services owns.
    const { uid, gid } = await stat(path);
    await file.chown(uid, gid);
  } finally {
    await file.close();
  }
  await rename(partial, path);
}

/** The id follows from the key, so a file and a database can be matched without a name written down anywhere. */
function masterKey(bytes: Uint8Array): EnvelopeKey {
  const id = `mst_${createHmac('sha256', bytes).update('fairlead master key id').digest('hex').slice(0, 20)}`;
  return { id, bytes };
}

function first(keys: readonly (EnvelopeKey | undefined)[]): EnvelopeKey {
  const [key] = keys;
  if (key === undefined) throw new Error('the master key file holds no key');
  return key;
}

async function changedAtMs(path: string): Promise<number> {
  const info = await stat(path);
  // A rename brings another file: its inode reveals a change within one tick of the clock.
  return info.mtimeMs + info.ino;
}
