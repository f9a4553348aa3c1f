// Packages of npm in a release, as package-lock.json names them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

export interface NpmPackage {
  /** Path in the repository, the key of package-lock.json. */
  readonly key: string;
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Digest as package-lock.json has it, such as `sha512-…`. */
  readonly integrity: string | undefined;
}

export function readLock(root: string): Lock {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
}

export const lockKeyOf = (name: string) => `node_modules/${name}`;

/** Returns the keys of the packages that files of node_modules are in; our own packages are links there. */
export function keysOfFiles(lock: Lock, files: readonly string[]): Set<string> {
  const keys = new Set<string>();
  for (const file of files) {
    const key = /^(.*\/)?node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0];
    if (key !== undefined && lock.packages[key]?.link !== true) keys.add(key);
  }
  return keys;
}

/** Returns the keys of all packages that a workspace needs in production, without optional and peer dependencies. */
export function keysOfDependencies(lock: Lock, workspace: string): Set<string> {
  const keys = new Set<string>();
  const visited = new Set<string>();
  const visit = (key: string): void => {
    if (visited.has(key)) return;
    visited.add(key);
    const entry = lock.packages[key];
    if (entry?.link === true) {
      if (entry.resolved !== undefined) visit(entry.resolved);
      return;
    }
    if (key.includes('node_modules/')) keys.add(key);
    for (const name of Object.keys(entry?.dependencies ?? {})) {
      const found = resolveKey(lock, key, name);
      if (found !== undefined) visit(found);
    }
  };
  visit(workspace);
  return keys;
}

/** Resolves a name as Node does: from the package's own node_modules upwards. */
function resolveKey(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/'), 0))) {
    const key = folder === '' ? lockKeyOf(name) : `${folder}/node_modules/${name}`;
    if (lock.packages[key] !== undefined) return key;
    if (folder === '') return undefined;
  }
}

export function describePackages(lock: Lock, keys: Iterable<string>): NpmPackage[] {
  return [...keys].sort().map((key) => {
    const { version, license, integrity } = lock.packages[key] ?? {};
    if (version === undefined) throw new TypeError(`package-lock.json has no version of ${key}`);
    const name = key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return { key, name, version, licence: license ?? 'UNKNOWN', integrity };
  });
}
