// Manifest of the pictures in the documents: for each, the version of the product and the sources of the page it shows.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashFiles } from './inputs-hash.ts';

export const PICTURES = 'docs/images';
const MANIFEST = `${PICTURES}/pictures.json`;

export interface PictureRecord {
  /** Version in package.json when the picture was made. */
  readonly version: string;
  /** Globs of the page's source files. */
  readonly sources: readonly string[];
  /** Hash of these files when the picture was made. */
  readonly sourcesHash: string;
}

/** Records by the name of the picture's file. */
export type PictureManifest = Readonly<Record<string, PictureRecord>>;

export function readPictures(root: string): PictureManifest {
  const path = join(root, MANIFEST);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as PictureManifest) : {};
}

/** Records that the pictures show the product as it is now. */
export function recordPictures(root: string, pictures: ReadonlyMap<string, readonly string[]>): void {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const made = [...pictures].map(([name, sources]): [string, PictureRecord] => [
    name,
    { version, sources, sourcesHash: hashFiles(root, sources) },
  ]);
  writeFileSync(join(root, MANIFEST), `${JSON.stringify(Object.fromEntries(made.sort()), null, 2)}\n`);
}
