// Hashes the inputs of a build to tell if its output is current.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const IGNORED =
  /(^|\/)(node_modules|\.next|\.turbo|target|generated)(\/|$)|\.test\.tsx?$|next-env\.d\.ts$|\.tsbuildinfo$/;

/** Hashes the version of Node and all files that match the globs. */
export function hashInputs(root: string, globs: readonly string[]): string {
  return hashFiles(root, globs, process.version);
}

/** Hashes a prefix, then the names and bytes of all files that match the globs, in a stable order. Skips tests. */
export function hashFiles(root: string, globs: readonly string[], prefix = ''): string {
  const hash = createHash('sha256').update(prefix);
  const files = globSync([...globs], { cwd: root, exclude: (name) => IGNORED.test(name) }).filter(
    (name) => !IGNORED.test(name),
  );
  for (const name of files.sort()) {
    const file = join(root, name);
    if (!statSync(file).isFile()) continue;
    const bytes = readFileSync(file);
    hash.update(`\n${name} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest('hex');
}

export function isCurrent(mark: string, hash: string): boolean {
  return existsSync(mark) && readFileSync(mark, 'utf8') === hash;
}

export function markCurrent(mark: string, hash: string): void {
  mkdirSync(dirname(mark), { recursive: true });
  writeFileSync(mark, hash);
}
