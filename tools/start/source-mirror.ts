// Maintains a bare mirror of this clone's HEAD as branch `main`, the source of the sample app. A mirror also serves a
// detached HEAD, a worktree or a shallow clone, and only commits leave the clone.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../lib/command.ts';

export const SOURCE_BRANCH = 'main';

export class SourceError extends Error {}

const NAME = /^(fairlead-[0-9a-f]{16})\.git$/;
/** Former, guessable name of the mirror. */
const FORMER_NAME = 'fairlead';

/**
 * Returns the mirror's secret name, which is created once as its folder's name. Only the dashboard shows it: any
 * program on this machine can query the port, and the clone may be private.
 */
export function sourceName(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const entry of readdirSync(folder)) {
    const [, known] = NAME.exec(entry) ?? [];
    if (known !== undefined) return known;
  }
  const name = `${FORMER_NAME}-${randomBytes(8).toString('hex')}`;
  const former = join(folder, `${FORMER_NAME}.git`);
  if (existsSync(former)) renameSync(former, join(folder, `${name}.git`));
  return name;
}

/** True if an app's repository is this mirror, under any port and name it ever had. */
export function isMirror(url: string): boolean {
  return /^http:\/\/127\.0\.0\.1:\d+\/fairlead(?:-[0-9a-f]{16})?\.git$/.test(url);
}

/** Creates the mirror if it is missing, and updates it to the clone's HEAD. */
export async function refreshMirror(clone: string, folder: string, name: string): Promise<void> {
  const mirror = join(folder, `${name}.git`);
  if (!existsSync(join(mirror, 'HEAD'))) {
    await git(['init', '--quiet', '--bare', `--initial-branch=${SOURCE_BRANCH}`, mirror]);
    // A shallow clone may push only to a repository that allows it.
    await git(['-C', mirror, 'config', 'receive.shallowUpdate', 'true']);
  }
  // Push from the clone instead of fetching: git passes `safe.directory` of the command line to no child process, and
  // the clone may belong to another user.
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
