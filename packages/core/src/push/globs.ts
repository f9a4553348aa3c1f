// Globs of watch paths and tag patterns.
/// <reference path="./picomatch.d.ts" />
import picomatch from 'picomatch';

/** Names such as .github are ordinary folders of a repository. */
const options = { dot: true };

/**
 * Returns true if a path matches a glob and none that begins with "!". A list of exclusions alone matches everything else.
 */
export function matchesAny(globs: readonly string[], path: string): boolean {
  const excluded = globs.filter((glob) => glob.startsWith('!')).map((glob) => glob.slice(1));
  const included = globs.filter((glob) => !glob.startsWith('!'));
  const matches = (glob: string) => picomatch(toGlob(glob), options)(path);
  return (included.length === 0 || included.some(matches)) && !excluded.some(matches);
}

/** A folder stands for everything in it. */
function toGlob(glob: string): string {
  return glob.endsWith('/') ? `${glob}**` : glob;
}

export function matchesGlob(glob: string, name: string): boolean {
  return picomatch(glob, options)(name);
}
