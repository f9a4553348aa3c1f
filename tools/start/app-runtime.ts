// Provides the Node and npm that the local agent gives to builds and apps. Copies them if their folders are closed to
// the apps' users.
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { nodeOf } from '../lib/install.mjs';
import { closedFolder } from './folders.ts';

export interface AppRuntime {
  /** PATH of builds and apps. */
  readonly path: string;
  /** Programs that were copied because their own folder is closed. */
  readonly copied: readonly string[];
}

export function openAppRuntime(root: string, folder: string, isRoot: boolean): AppRuntime {
  const isClosed = (path: string) => isRoot && closedFolder(path) !== undefined;
  const systemPath = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((entry) => entry !== '' && !entry.includes('node_modules'));
  const node = nodeOf(root);
  const npm = findNpm(systemPath);
  const copied: string[] = [];
  const bin = join(folder, 'bin');
  const entries: string[] = [];

  if (isClosed(node)) {
    copyNode(node, bin);
    copied.push('node');
    entries.push(bin);
  } else {
    entries.push(dirname(node));
  }
  if (npm !== undefined && isClosed(npm)) {
    copyNpm(npm, folder, bin);
    copied.push('npm');
    if (!entries.includes(bin)) entries.push(bin);
  }
  const open = systemPath.filter((entry) => !isClosed(entry));
  return { path: [...entries, ...open].join(delimiter), copied };
}

function findNpm(path: readonly string[]): string | undefined {
  const program = path.map((entry) => join(entry, 'npm')).find((file) => existsSync(file));
  if (program === undefined) return undefined;
  // …/npm/bin/npm-cli.js → …/npm
  const cli = realpathSync(program);
  const folder = dirname(dirname(cli));
  return existsSync(join(folder, 'package.json')) ? folder : undefined;
}

function copyNode(node: string, bin: string): void {
  mkdirSync(bin, { recursive: true, mode: 0o755 });
  const copy = join(bin, 'node');
  // A running copy cannot be overwritten. Compare bytes, because the name does not contain the version.
  if (existsSync(copy) && readFileSync(copy).equals(readFileSync(node))) return;
  rmSync(copy, { force: true });
  cpSync(node, copy);
  chmodSync(copy, 0o755);
}

function copyNpm(npm: string, folder: string, bin: string): void {
  const copy = join(folder, 'npm');
  const versionOf = (at: string) =>
    existsSync(join(at, 'package.json'))
      ? (JSON.parse(readFileSync(join(at, 'package.json'), 'utf8')) as { version: string }).version
      : undefined;
  if (versionOf(copy) !== versionOf(npm)) {
    rmSync(copy, { recursive: true, force: true });
    cpSync(npm, copy, { recursive: true, dereference: true });
  }
  mkdirSync(bin, { recursive: true, mode: 0o755 });
  for (const [name, cli] of [
    ['npm', 'npm-cli.js'],
    ['npx', 'npx-cli.js'],
  ] as const) {
    rmSync(join(bin, name), { force: true });
    symlinkSync(join('../npm/bin', cli), join(bin, name));
  }
}
