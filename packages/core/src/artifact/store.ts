// Artifact store: an interface with a folder as the first implementation. Each organization has its own folder, so
// none can request another's artifacts.
// Invariant: the bytes under a digest have that digest; they count only after they were read again and hashed.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { freeDiskBytes, readDisk, roomOf } from '../kernel/index.ts';
import { createUploadQuotas, type UploadQuota, type UploadQuotaBounds } from './upload-quota.ts';

/** Far above the size of an app, far below one that fills a disk in a single upload. */
export const artifactBytesMax = 8 * 1024 ** 3;

const defaultBounds: UploadQuotaBounds = {
  organizationBytesMax: 200 * 1024 ** 3,
  organizationFilesMax: 20_000,
  uploadsMax: 32,
  freeBytesMin: freeDiskBytes,
};

export interface ArtifactKey {
  readonly organizationId: string;
  /** 64 hexadecimal digits. */
  readonly hex: string;
}

export interface Part {
  readonly offset: number;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Size of the whole artifact. */
  readonly totalBytes: number;
}

export type PartResult =
  /** So much is there now. */
  | { readonly kind: 'partial'; readonly offset: number }
  | { readonly kind: 'whole'; readonly sizeBytes: number }
  /** It does not begin at the end of the stored bytes. */
  | { readonly kind: 'wrong_offset'; readonly offset: number }
  /** The upload is complete but has another digest; nothing is stored. */
  | { readonly kind: 'wrong_digest' }
  /** The organization or the disk has no room for more. */
  | { readonly kind: 'no_room' }
  /** The organization has the maximum number of concurrent uploads. */
  | { readonly kind: 'busy' };

export interface ExpectedArtifact {
  /** 64 hexadecimal digits. */
  readonly hex?: string | undefined;
  readonly sizeBytes?: number | undefined;
}

/** Result of an upload. The store keeps only one that arrived whole and matches its announcement. */
export type AddResult =
  | { readonly kind: 'whole'; readonly hex: string; readonly sizeBytes: number }
  | { readonly kind: 'wrong_digest'; readonly hex: string }
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'no_room' }
  | { readonly kind: 'busy' };

export interface StoredFile extends ArtifactKey {
  readonly modifiedAt: Date;
}

export interface ArtifactStore {
  /** Bytes of a whole artifact; null when it is not there. */
  size(key: ArtifactKey): Promise<number | null>;
  /** The same, and it counts as written now. Before its row is written again: a file without a row is deleted when it is old. */
  touch(key: ArtifactKey): Promise<number | null>;
  /** Bytes that a sender has left of an unfinished one. */
  offset(key: ArtifactKey, sender: string): Promise<number>;
  /** From a byte to another, both included. */
  read(key: ArtifactKey, from: number, to: number): AsyncIterable<Uint8Array>;
  /** Goes on where the sender stopped. A part that breaks off keeps what came. */
  append(key: ArtifactKey, sender: string, part: Part): Promise<PartResult>;
  /** Stores the bytes; the store computes their digest. */
  add(organizationId: string, bytes: AsyncIterable<Uint8Array>, expected?: ExpectedArtifact): Promise<AddResult>;
  /** Deletes it unless it was written or touched since; returns true if it was deleted. */
  delete(key: ArtifactKey, before: Date): Promise<boolean>;
  /** Deletes everything of an organization. */
  deleteAll(organizationId: string): Promise<void>;
  /** Lists whole artifacts of every organization. */
  list(): AsyncIterable<StoredFile>;
  /** Deletes unfinished uploads that received no bytes since. */
  pruneUnfinished(before: Date): Promise<number>;
}

/** Files that are renamed meanwhile are looked for so often. */
const usageRoundsMax = 3;

// Ids and digests only: no part can climb out of the folder.
const plain = /^[0-9A-Za-z_]{1,100}$/;
const digestName = /^[0-9a-f]{64}$/;

export function createFolderArtifactStore(dir: string, bounds: Partial<UploadQuotaBounds> = {}): ArtifactStore {
  const folderOf = (organizationId: string): string => join(dir, checked(organizationId));
  const pathOf = ({ organizationId, hex }: ArtifactKey): string => join(folderOf(organizationId), checked(hex));
  const partialOf = (key: ArtifactKey, sender: string): string => `${pathOf(key)}.${checked(sender)}.partial`;
  const enter = createUploadQuotas({
    bounds: { ...defaultBounds, ...bounds },
    roomBytes: async (freeBytesMin) => {
      await mkdir(dir, { recursive: true });
      return roomOf(await readDisk(dir), freeBytesMin);
    },
    bytesOf: (organizationId) => usedIn(folderOf(organizationId)),
    filesOf: async (organizationId) => (await namesIn(folderOf(organizationId))).length,
  });
  // One writer at a time for each: two would mix their bytes.
  const writing = new Set<string>();

  return {
    size: (key) => sizeOf(pathOf(key)),
    touch: async (key) => {
      const now = new Date();
      const touched = await utimes(pathOf(key), now, now).then(() => true, ignoreMissing);
      return touched === null ? null : sizeOf(pathOf(key));
    },
    offset: async (key, sender) => (await sizeOf(partialOf(key, sender))) ?? 0,
    read: (key, from, to) => createReadStream(pathOf(key), { start: from, end: to }),
    append: async (key, sender, { offset, bytes, totalBytes }) => {
      const [path, partial] = [pathOf(key), partialOf(key, sender)];
      await mkdir(folderOf(key.organizationId), { recursive: true, mode: 0o700 });
      const there = (await sizeOf(partial)) ?? 0;
      if (there !== offset || writing.has(partial)) return { kind: 'wrong_offset', offset: there };
      const room = enter(key.organizationId);
      if (room === null) return { kind: 'busy' };
      writing.add(partial);
      try {
        const at = await write(partial, 'a', bytes, totalBytes - offset, room);
        if (at === null) return { kind: 'no_room' };
        if (offset + at < totalBytes) return { kind: 'partial', offset: offset + at };
        if ((await hashOf(partial)) !== key.hex) {
          await rm(partial, { force: true });
          return { kind: 'wrong_digest' };
        }
        await rename(partial, path);
        return { kind: 'whole', sizeBytes: totalBytes };
      } finally {
        writing.delete(partial);
        room.end();
      }
    },
    add: async (organizationId, bytes, expected = {}) => {
      const folder = folderOf(organizationId);
      const room = enter(organizationId);
      if (room === null) return { kind: 'busy' };
      const partial = join(folder, `${crypto.randomUUID().replaceAll('-', '')}.partial`);
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const sizeBytes = await write(partial, 'wx', bytes, artifactBytesMax + 1, room);
        if (sizeBytes === null) return { kind: 'no_room' };
        if (sizeBytes > artifactBytesMax) return { kind: 'too_large' };
        if (expected.sizeBytes !== undefined && expected.sizeBytes !== sizeBytes) return { kind: 'incomplete' };
        const hex = await hashOf(partial);
        if (expected.hex !== undefined && expected.hex !== hex) return { kind: 'wrong_digest', hex };
        await rename(partial, pathOf({ organizationId, hex }));
        return { kind: 'whole', hex, sizeBytes };
      } finally {
        await rm(partial, { force: true });
        room.end();
      }
    },
    delete: async (key, before) => {
      const path = pathOf(key);
      // Renames it first: a touch from now on finds nothing, and the peer sends the artifact again.
      const aside = `${path}.${crypto.randomUUID().replaceAll('-', '')}.partial`;
      if ((await rename(path, aside).then(() => true, ignoreMissing)) === null) return false;
      if ((await stat(aside)).mtime >= before) {
        await rename(aside, path);
        return false;
      }
      await rm(aside);
      return true;
    },
    deleteAll: (organizationId) => rm(folderOf(organizationId), { recursive: true, force: true }),
    list: async function* () {
      for (const organizationId of await namesIn(dir)) {
        for (const hex of await namesIn(join(dir, organizationId))) {
          if (!plain.test(organizationId) || !digestName.test(hex)) continue;
          const info = await stat(join(dir, organizationId, hex)).catch(ignoreMissing);
          if (info !== null) yield { organizationId, hex, modifiedAt: info.mtime };
        }
      }
    },
    pruneUnfinished: async (before) => {
      let pruned = 0;
      for (const organizationId of await namesIn(dir)) {
        for (const name of await namesIn(join(dir, organizationId))) {
          if (!name.endsWith('.partial')) continue;
          const path = join(dir, organizationId, name);
          const info = await stat(path).catch(ignoreMissing);
          if (info === null || info.mtime >= before) continue;
          await rm(path, { force: true });
          pruned += 1;
        }
      }
      return pruned;
    },
  };
}

function checked(part: string): string {
  if (!plain.test(part)) throw new TypeError(`not a key of the artifact store: ${JSON.stringify(part)}`);
  return part;
}

/** Durable when it resolves; never more than `bytesMax`. Returns the number of bytes, or null if there is no room for them. */
async function write(
  path: string,
  flags: 'a' | 'wx',
  bytes: AsyncIterable<Uint8Array>,
  bytesMax: number,
  room: UploadQuota,
): Promise<number | null> {
  let written = 0;
  if (!(await room.reserve(0))) return null;
  const file = await open(path, flags, 0o600);
  try {
    for await (const chunk of bytes) {
      const taken = chunk.subarray(0, bytesMax - written);
      if (!(await room.reserve(taken.length))) return null;
      try {
        await file.writeFile(taken);
      } finally {
        room.settle(taken.length);
      }
      written += taken.length;
      if (written === bytesMax) break;
    }
  } finally {
    await file.sync();
    await file.close();
  }
  return written;
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

async function sizeOf(path: string): Promise<number | null> {
  const info = await stat(path).catch(ignoreMissing);
  return info === null ? null : info.size;
}

/** A file that got another name while it was looked for counts in the next round. */
async function usedIn(folder: string): Promise<number> {
  for (let round = 1; ; round += 1) {
    const sizes: (number | null)[] = [];
    for (const name of await namesIn(folder)) sizes.push(await sizeOf(join(folder, name)));
    if (sizes.includes(null) && round < usageRoundsMax) continue;
    return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  }
}

async function namesIn(dir: string): Promise<string[]> {
  return (await readdir(dir).catch(ignoreMissing)) ?? [];
}

function ignoreMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null;
  throw error;
}
