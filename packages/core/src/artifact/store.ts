// Owns where artifacts lie: a store behind an interface, a folder first. What lies under a digest has it: bytes count only
// once they were read again and hashed. Each organization has a folder of its own, so none can ask for what another has.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Far above what an app should be, far below what fills a disk at once. */
export const artifactBytesMax = 8 * 1024 ** 3;

export interface ArtifactKey {
  readonly organizationId: string;
  /** 64 hexadecimal digits. */
  readonly hex: string;
}

export interface Part {
  readonly offset: number;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Of the whole artifact. */
  readonly totalBytes: number;
}

export type PartResult =
  /** So much is there now. */
  | { readonly kind: 'partial'; readonly offset: number }
  | { readonly kind: 'whole'; readonly sizeBytes: number }
  /** It begins elsewhere than what is there ends. */
  | { readonly kind: 'wrong_offset'; readonly offset: number }
  /** All of it came, and it is something else; nothing is kept. */
  | { readonly kind: 'wrong_digest' };

export interface ArtifactStore {
  /** Bytes of a whole artifact; null when it is not there. */
  size(key: ArtifactKey): Promise<number | null>;
  /** Bytes that a sender has left of an unfinished one. */
  offset(key: ArtifactKey, sender: string): Promise<number>;
  /** From a byte to another, both included. */
  read(key: ArtifactKey, from: number, to: number): AsyncIterable<Uint8Array>;
  /** Goes on where the sender stopped. A part that breaks off keeps what came. */
  append(key: ArtifactKey, sender: string, part: Part): Promise<PartResult>;
  /** Takes bytes whose digest nobody knows yet. Null: they are more than allowed. */
  add(organizationId: string, bytes: AsyncIterable<Uint8Array>): Promise<{ hex: string; sizeBytes: number } | null>;
  delete(key: ArtifactKey): Promise<void>;
  /** Deletes unfinished ones that nobody went on with since. */
  pruneUnfinished(before: Date): Promise<number>;
}

// Ids and digests only: no part can climb out of the folder.
const plain = /^[0-9A-Za-z_]{1,100}$/;

export function createFolderArtifactStore(dir: string): ArtifactStore {
  const folderOf = (organizationId: string): string => join(dir, checked(organizationId));
  const pathOf = ({ organizationId, hex }: ArtifactKey): string => join(folderOf(organizationId), checked(hex));
  const partialOf = (key: ArtifactKey, sender: string): string => `${pathOf(key)}.${checked(sender)}.partial`;
  // One writer at a time for each: two would mix their bytes.
  const writing = new Set<string>();

  return {
    size: (key) => sizeOf(pathOf(key)),
    offset: async (key, sender) => (await sizeOf(partialOf(key, sender))) ?? 0,
    read: (key, from, to) => createReadStream(pathOf(key), { start: from, end: to }),
    append: async (key, sender, { offset, bytes, totalBytes }) => {
      const [path, partial] = [pathOf(key), partialOf(key, sender)];
      await mkdir(folderOf(key.organizationId), { recursive: true, mode: 0o700 });
      const there = (await sizeOf(partial)) ?? 0;
      if (there !== offset || writing.has(partial)) return { kind: 'wrong_offset', offset: there };
      writing.add(partial);
      try {
        const at = await write(partial, 'a', bytes, totalBytes - offset);
        if (offset + at < totalBytes) return { kind: 'partial', offset: offset + at };
        if ((await hashOf(partial)) !== key.hex) {
          await rm(partial, { force: true });
          return { kind: 'wrong_digest' };
        }
        await rename(partial, path);
        return { kind: 'whole', sizeBytes: totalBytes };
      } finally {
        writing.delete(partial);
      }
    },
    add: async (organizationId, bytes) => {
      const folder = folderOf(organizationId);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const partial = join(folder, `${crypto.randomUUID().replaceAll('-', '')}.partial`);
      try {
        const sizeBytes = await write(partial, 'wx', bytes, artifactBytesMax + 1);
        if (sizeBytes > artifactBytesMax) return null;
        const hex = await hashOf(partial);
        await rename(partial, pathOf({ organizationId, hex }));
        return { hex, sizeBytes };
      } finally {
        await rm(partial, { force: true });
      }
    },
    delete: (key) => rm(pathOf(key), { force: true }),
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

/** Durable when it resolves; never more than `bytesMax`. Answers how many bytes came. */
async function write(
  path: string,
  flags: 'a' | 'wx',
  bytes: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<number> {
  let written = 0;
  const file = await open(path, flags, 0o600);
  try {
    for await (const chunk of bytes) {
      const taken = chunk.subarray(0, bytesMax - written);
      await file.writeFile(taken);
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

async function namesIn(dir: string): Promise<string[]> {
  return (await readdir(dir).catch(ignoreMissing)) ?? [];
}

function ignoreMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null;
  throw error;
}
