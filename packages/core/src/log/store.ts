// Log store: an interface with a folder as the first implementation. Keys come from our own code, never from a peer.
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { readDisk, roomOf } from '../kernel/index.ts';

export interface LogStore {
  /** Whole and durable when the promise resolves. The same key with the same bytes may be put again. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Null when there is no such object. */
  get(key: string): Promise<Uint8Array | null>;
  delete(key: string): Promise<void>;
  /** False when the disk is so full that logs must leave the rest to the database. */
  hasRoom(): Promise<boolean>;
}

// Every part of a key is ids, numbers and a plain suffix, so no key can climb out of the folder.
const keyPattern = /^[0-9A-Za-z_-]+(?:\/[0-9A-Za-z_-]+)*(?:\.[0-9a-z]+)*$/;

/** Keeps `freeBytesMin` of the disk free, at most 5 % of it. */
export function createFolderLogStore(dir: string, { freeBytesMin = 0 } = {}): LogStore {
  function pathOf(key: string): string {
    if (!keyPattern.test(key)) throw new TypeError(`not a key of the log store: ${JSON.stringify(key)}`);
    return join(dir, key.replaceAll('/', sep));
  }

  return {
    put: async (key, bytes) => {
      const path = pathOf(key);
      const partial = `${path}.partial`;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const file = await open(partial, 'w', 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(partial, path);
    },
    get: async (key) => {
      try {
        return new Uint8Array(await readFile(pathOf(key)));
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    hasRoom: async () => {
      await mkdir(dir, { recursive: true });
      return roomOf(await readDisk(dir), freeBytesMin) >= 0;
    },
    delete: (key) => rm(pathOf(key), { force: true }),
  };
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
