// Owns reading whole folders as places to search; what is compressed is searched unpacked as well.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { Place } from './search.ts';

export async function filesOf(root: string, label: string): Promise<Place[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const places: Place[] = [];
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      // Whatever runs removes files of its own.
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (bytes === null) continue;
    const name = `${label}: ${path.slice(root.length + 1)}`;
    places.push({ name, bytes });
    const unpacked = unpack(bytes);
    if (unpacked !== null) places.push({ name: `${name}, unpacked`, bytes: unpacked });
  }
  return places;
}

function unpack(bytes: Buffer): Buffer | null {
  if (bytes.length >= 4 && bytes.readUInt32LE() === 0xfd2fb528) return zstdDecompressSync(bytes);
  return bytes.length >= 3 && bytes.readUIntBE(0, 3) === 0x1f8b08 ? gunzipSync(bytes) : null;
}
