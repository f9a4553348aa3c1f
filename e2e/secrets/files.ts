// Reads whole folders for the search; compressed files are searched unpacked as well.
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { Haystack } from './search.ts';

export async function filesOf(root: string, label: string): Promise<Haystack[]> {
  // A missing folder would pass as one without secrets.
  await access(root);
  const places: Haystack[] = [];
  for (const path of await pathsIn(root)) {
    const bytes = await readFile(path).catch(unlessGone);
    if (bytes === null) continue;
    const name = `${label}: ${path.slice(root.length + 1)}`;
    places.push({ name, bytes });
    const unpacked = unpack(bytes);
    if (unpacked !== null) places.push({ name: `${name}, unpacked`, bytes: unpacked });
  }
  return places;
}

/** Lists files folder by folder: readdir's own recursion fails when a folder is removed meanwhile. */
async function pathsIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true }).catch(unlessGone);
  const found = (entries ?? []).map(async (entry) => {
    const path = join(root, entry.name);
    if (entry.isDirectory()) return pathsIn(path);
    return entry.isFile() ? [path] : [];
  });
  return (await Promise.all(found)).flat();
}

/** Returns null for a file that its program has removed meanwhile. */
function unlessGone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

function unpack(bytes: Buffer): Buffer | null {
  if (bytes.length >= 4 && bytes.readUInt32LE() === 0xfd2fb528) return zstdDecompressSync(bytes);
  return bytes.length >= 3 && bytes.readUIntBE(0, 3) === 0x1f8b08 ? gunzipSync(bytes) : null;
}
