// Measures the JavaScript that each page of the built web app loads first, with the app's own script.
import { join } from 'node:path';
import { ROOT, run } from '../../tools/lib/command.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { atMost, type Measurement } from './table.ts';

const BOUND_KB = 220;
const PAGE = /^\s*([\d.]+) KB\s+\d+ files\s+(\S+)/;

/** Returns a row for each page, largest first. The web app must be built. */
export async function measureFirstLoad(): Promise<Measurement[]> {
  const { output, stdout } = await run(nodeOf(ROOT), [join(ROOT, 'apps/web/scripts/first-load.ts')]);
  const pages = stdout.split('\n').flatMap((line) => {
    const [, size, route] = PAGE.exec(line) ?? [];
    return size === undefined || route === undefined ? [] : [{ size: Number(size), route }];
  });
  if (pages.length === 0) throw new Error(`no page was measured:\n${output}`);
  return pages.map(({ size, route }) => atMost(`first-load JavaScript, gzip: ${route}`, size, BOUND_KB, 'KB', 1));
}
