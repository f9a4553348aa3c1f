// Reads with readelf which processor and which symbol versions of the C library programs need. Invariant: everything in
// a release starts with the C library of the oldest supported systems.
import { closeSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from '../lib/command.ts';
import { ReleaseFailed, type Target } from './targets.ts';

/** Ubuntu 20.04 and Debian 11 have it. */
const GLIBC_MAX = '2.31';
/** libstdc++ of GCC 10, on both of them. */
const GLIBCXX_MAX = '3.4.28';

export interface ElfNeeds {
  readonly machine: string;
  /** Newest version of each set of symbols, such as `GLIBC` → `2.28`. */
  readonly versions: ReadonlyMap<string, string>;
  readonly libraries: readonly string[];
}

/** Parses the output of `readelf --file-header --version-info --dynamic`. */
export function parseReadelf(output: string): ElfNeeds {
  const versions = new Map<string, string>();
  // Versions that a file defines itself are in another section.
  const needs = output.split(/^Version needs section/m)[1] ?? '';
  for (const [, set = '', version = ''] of needs.matchAll(/Name: ([A-Za-z]+(?:_[A-Za-z]+)*)_(\d+(?:\.\d+)*)\s/g)) {
    const known = versions.get(set);
    if (known === undefined || compareVersions(version, known) > 0) versions.set(set, version);
  }
  return {
    machine: /^\s*Machine:\s*(.+)$/m.exec(output)?.[1]?.trim() ?? '',
    versions,
    libraries: [...output.matchAll(/\(NEEDED\)\s+Shared library: \[(.+?)\]/g)].map(([, name = '']) => name),
  };
}

export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  for (let at = 0; at < Math.max(left?.length ?? 0, right?.length ?? 0); at++) {
    const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Libraries that every Debian and Ubuntu has: those of glibc, and those that apt and dpkg need. */
const SYSTEM_LIBRARY = /^(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z))\.so\.\d+$/;

/** Returns what keeps a file from running on the target; empty if nothing does. */
export function findObstacles(needs: ElfNeeds, target: Target, shipped: ReadonlySet<string>): string[] {
  const obstacles = needs.libraries
    .filter((name) => !SYSTEM_LIBRARY.test(name) && !shipped.has(name))
    .map((name) => `needs ${name}, which the release lacks`);
  if (!target.machine.test(needs.machine)) obstacles.push(`is for ${needs.machine || 'an unknown processor'}`);
  for (const [set, max] of [
    ['GLIBC', GLIBC_MAX],
    ['GLIBCXX', GLIBCXX_MAX],
  ] as const) {
    const newest = needs.versions.get(set);
    if (newest !== undefined && compareVersions(newest, max) > 0)
      obstacles.push(`needs ${set}_${newest}, newer than ${max}`);
  }
  return obstacles;
}

/** Checks each program and library below `path`. Returns their number and the newest version of glibc they need. */
export async function requireOldGlibc(path: string, target: Target): Promise<{ count: number; newest: string }> {
  const files = findElfFiles(path);
  const shipped = new Set(listFiles(path).map((file) => basename(file)));
  if (files.length === 0) throw new ReleaseFailed(`${path} holds no program`);
  let newest = '0';
  for (const file of files) {
    const args = ['--wide', '--file-header', '--version-info', '--dynamic', file];
    const { code, output } = await run('readelf', args, { env: { LC_ALL: 'C' } });
    if (code !== 0) throw new ReleaseFailed(`readelf (apt-get install binutils): ${output.trim()}`);
    const needs = parseReadelf(output);
    const obstacles = findObstacles(needs, target, shipped);
    if (obstacles.length > 0) throw new ReleaseFailed(`${file} ${obstacles.join(', ')}`);
    const own = needs.versions.get('GLIBC') ?? '0';
    if (compareVersions(own, newest) > 0) newest = own;
  }
  return { count: files.length, newest };
}

function findElfFiles(path: string): string[] {
  return listFiles(path).filter((file) => lstatSync(file).isFile() && isElf(file));
}

/** Lists files and links. */
function listFiles(path: string): string[] {
  if (!lstatSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => listFiles(join(path, name)));
}

function isElf(file: string): boolean {
  const head = Buffer.alloc(4);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, head);
  } finally {
    closeSync(descriptor);
  }
  return head.equals(Buffer.from('\x7fELF', 'latin1'));
}
