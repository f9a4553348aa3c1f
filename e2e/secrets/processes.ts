// Reads what processes expose: arguments of all, the environment of Fairlead's own, and the location of an app's secret
// files.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Haystack } from './search.ts';

/**
 * `instance` is the app's process: its arguments and its parent's are searched; its environment may contain secrets.
 */
export function placesOfProcesses(instance: number, own: readonly number[]): Haystack[] {
  const ours = [parentOf(instance), ...own];
  return [...[instance, ...ours].map((pid) => placeOf(pid, 'cmdline')), ...ours.map((pid) => placeOf(pid, 'environ'))];
}

/** Throws unless each secret file is in memory only, readable by the app and root alone. */
export function requireOnTmpfs(instance: number, names: readonly string[]): void {
  const environment = readFileSync(`/proc/${instance}/environ`, 'utf8').split('\0');
  const folder = environment.find((entry) => entry.startsWith('FAIRLEAD_SECRETS='))?.split('=')[1];
  if (folder === undefined) throw new Error('the app knows no folder of secrets');
  const mounts = readFileSync(`/proc/${instance}/mountinfo`, 'utf8').split('\n');
  const mount = mounts.find((line) => line.split(' ')[4] === folder);
  if (mount === undefined || !mount.includes(' - tmpfs ')) throw new Error(`${folder} is no tmpfs: ${mount}`);
  for (const name of names) {
    const { mode } = statSync(join(`/proc/${instance}/root`, folder, name));
    if ((mode & 0o077) !== 0) throw new Error(`${name} can be read by others: ${(mode & 0o777).toString(8)}`);
  }
}

function placeOf(pid: number, what: 'cmdline' | 'environ'): Haystack {
  return { name: `process ${pid}, ${what}`, bytes: readFileSync(`/proc/${pid}/${what}`) };
}

function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
