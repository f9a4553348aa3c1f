// Where what the suites build lies: in folders that git ignores.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';

export function targetFolder(): string {
  return process.env.CARGO_TARGET_DIR ?? join(ROOT, 'agents/target');
}

/** A folder for the programs of others that a suite needs. */
export function cacheFolder(name: string): string {
  const folder = join(targetFolder(), 'protocols', name);
  mkdirSync(folder, { recursive: true });
  return folder;
}
