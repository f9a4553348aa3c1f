// Keeps a bare repository that follows this clone's HEAD as its branch `main`: what the sample app is deployed from. A
// mirror, so that a detached HEAD, a worktree or a shallow clone serves as well, and only commits ever leave the clone.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../lib/command.ts';

export const SOURCE_BRANCH = 'main';

export class SourceError extends Error {}

const NAME = /^(fairlead-[0-9a-f]{16})\.git$/;
/** What the mirror was called when its name could be guessed. */
const FORMER_NAME = 'fairlead';

/**
 * Made once and kept as the name of the folder. Whoever may know it sees it in the dashboard: every program on this machine
 * can ask the port, and the clone may be a private one.
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

/** Whether an app's repository is this mirror, under whatever port and name it had. */
export function isMirror(url: string): boolean {
  return /^http:\/\/127\.0\.0\.1:\d+\/fairlead(?:-[0-9a-f]{16})?\.git$/.test(url);
}

/** Makes the mirror when missing, and brings it to the clone's HEAD. */
export async function refreshMirror(clone: string, folder: string, name: string): Promise<void> {
  const mirror = join(folder, `${name}.git`);
  if (!existsSync(join(mirror, 'HEAD'))) {
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
