// Keeps a bare repository that follows this clone's HEAD as its branch `main`: what the sample app is deployed from. A
// mirror, so that a detached HEAD, a worktree or a shallow clone serves as well, and only commits ever leave the clone.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../lib/command.ts';

export const SOURCE_NAME = 'fairlead';
export const SOURCE_BRANCH = 'main';

export class SourceError extends Error {}

/** Makes the mirror when missing, and brings it to the clone's HEAD. */
export async function refreshMirror(clone: string, folder: string): Promise<void> {
  const mirror = join(folder, `${SOURCE_NAME}.git`);
  if (!existsSync(join(mirror, 'HEAD'))) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await git(['init', '--quiet', '--bare', `--initial-branch=${SOURCE_BRANCH}`, mirror]);
    // A shallow clone may push only to a repository that allows it.
    await git(['-C', mirror, 'config', 'receive.shallowUpdate', 'true']);
  }
  // Pushed from the clone, not fetched: git passes `safe.directory` of the command line to no child, and the clone may
  // belong to somebody else than who starts Fairlead.
  const trusted = ['-c', 'safe.directory=*', '-C', clone];
  await git([...trusted, 'push', '--quiet', '--force', '--no-verify', mirror, `HEAD:refs/heads/${SOURCE_BRANCH}`]);
}

async function git(args: readonly string[]): Promise<void> {
  const result = await run('git', args);
  if (result.code !== 0) {
    throw new SourceError(
      `this folder cannot serve as a git repository, and the sample app is deployed from it: ${result.output.trim()}`,
    );
  }
}
