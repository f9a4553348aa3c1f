// Files of the apps in `examples/`, and the lock file that npm writes for one without.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, run } from '../../tools/lib/command.ts';
import type { Files } from '../system/harness/repository.ts';

export const LOCK = 'package-lock.json';

/** Returns the text of each file of an example, by its path. */
export function exampleFiles(example: string): Files {
  const folder = join(ROOT, 'examples', example);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    entries.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), readFileSync(path, 'utf8')];
    }),
  );
}

/** Returns the `package-lock.json` of an example. */
export async function lockExample(example: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-lock-'));
  try {
    cpSync(join(ROOT, 'examples', example), folder, { recursive: true });
    const locked = await run('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: folder });
    if (locked.code !== 0) throw new Error(`npm could not lock examples/${example}: ${locked.output}`);
    return readFileSync(join(folder, LOCK), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
