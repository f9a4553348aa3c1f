// Owns reading whole folders as places to search.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Place } from './search.ts';

export async function filesOf(root: string, label: string): Promise<Place[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const places: Place[] = [];
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      // A running PostgreSQL removes files of its own.
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (bytes !== null) places.push({ name: `${label}: ${path.slice(root.length + 1)}`, bytes });
  }
  return places;
}
