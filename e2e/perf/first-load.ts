// Measures the JavaScript that each page of the built web app loads first, with the app's own script.
import { join } from 'node:path';
import { ROOT, run } from '../../tools/lib/command.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { atMost, type Measurement } from './table.ts';

export const FIRST_LOAD_KB_MAX = 220;
const PAGE = /^\s*([\d.]+) KB\s+\d+ files\s+(\S+)/;

export interface FirstLoad {
  readonly route: string;
  readonly sizeKb: number;
}

/** Returns the gzipped JavaScript of each route, largest first. The web app must be built. */
export async function readFirstLoads(): Promise<readonly FirstLoad[]> {
  const { output, stdout } = await run(nodeOf(ROOT), [join(ROOT, 'apps/web/scripts/first-load.ts')]);
  const pages = stdout.split('\n').flatMap((line) => {
    const [, size, route] = PAGE.exec(line) ?? [];
    return size === undefined || route === undefined ? [] : [{ route, sizeKb: Number(size) }];
  });
  if (pages.length === 0) throw new Error(`no page was measured:\n${output}`);
  return pages;
}

/** Returns a row for each page, largest first. */
export async function measureFirstLoad(): Promise<Measurement[]> {
  const pages = await readFirstLoads();
  return pages.map(({ route, sizeKb }) =>
    atMost(`first-load JavaScript, gzip: ${route}`, sizeKb, FIRST_LOAD_KB_MAX, 'KB', 1),
  );
}
