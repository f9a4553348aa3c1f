// Folders for the builds of suites, ignored by git.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';

export function targetFolder(): string {
  return process.env.CARGO_TARGET_DIR ?? join(ROOT, 'agents/target');
}

/** Returns the folder for a third-party program that a suite needs. */
export function cacheFolder(name: string): string {
  const folder = join(targetFolder(), 'protocols', name);
  mkdirSync(folder, { recursive: true });
  return folder;
}
