// Describes the release that a folder holds. A clone of the repository holds none.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Release {
  readonly version: string;
  /** Commit that it was built from. */
  readonly commit: string;
  /** Operating system and processor, such as `linux-x64`. */
  readonly target: string;
  /** True if no release key signed it. */
  readonly isDevelopment: boolean;
  /** Keys of which one signs the releases that this one accepts as its update, as minisign writes them. */
  readonly publicKeys: readonly string[];
}

export const RELEASE_FILE = 'release.json';

export function findRelease(root: string): Release | undefined {
  const file = join(root, RELEASE_FILE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Release) : undefined;
}

/** Returns the keys that releases are signed with. A clone has none, unless a test of updates brings one. */
export function releaseKeysOf(root: string): readonly string[] {
  const given = process.env.FAIRLEAD_RELEASE_KEYS ?? '';
  return findRelease(root)?.publicKeys ?? (given === '' ? [] : given.split(','));
}

/** Returns the version of a release with its commit, or that of a clone. */
export function versionOf(root: string): string {
  const release = findRelease(root);
  if (release !== undefined) return `${release.version} (${release.commit.slice(0, 7)})`;
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  return `${version} from a clone`;
}

/** Turns the npm commands of a help text into those of a release: `npm run backup -- --to DIR` into `fairlead backup --to DIR`. */
export function nameCommands(text: string, isRelease: boolean): string {
  if (!isRelease) return text;
  return text.replace(/\bnpm (?:run )?(start|backup|restore|recover|master-key)\b( --)?/g, 'fairlead $1');
}
