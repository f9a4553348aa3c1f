// Locates a repository: on GitHub, or in a folder of bare mirrors.
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Returns the URL for `git fetch`. Throws when the folder has no mirror of the repository. */
export function sourceOf(repository: string, mirrorFolder: string | undefined): string {
  if (mirrorFolder === undefined) return `https://github.com/${repository}.git`;
  const flat = join(mirrorFolder, repository.replace('/', '+'));
  const inFlat = existsSync(flat)
    ? readdirSync(flat, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    : [];
  const candidates = [
    join(mirrorFolder, `${repository}.git`),
    join(mirrorFolder, repository),
    `${flat}.git`,
    flat,
    ...inFlat.map(({ name }) => join(flat, name)),
  ];
  const found = candidates.find(isGitFolder);
  if (found === undefined)
    throw new Error(`${mirrorFolder} has no mirror of ${repository}: put a bare clone at ${candidates[0]}`);
  return `file://${resolve(found)}`;
}

function isGitFolder(folder: string): boolean {
  return existsSync(join(folder, 'HEAD')) && existsSync(join(folder, 'objects'));
}
