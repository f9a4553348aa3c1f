// Prints the gzipped JavaScript that each page loads before it becomes interactive, from the output of `next build`.
// Exits with 1 when a page exceeds the limit; lazily loaded code (charts, palette, dialogs) does not count.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';

const BOUND_BYTES = 220 * 1024;
const buildDir = join(import.meta.dirname, '..', '.next');
const appDir = join(buildDir, 'server', 'app');
const MANIFEST = 'page_client-reference-manifest.js';

const buildManifest = z.object({ rootMainFiles: z.array(z.string()).min(1) });
const pageManifest = z.object({ entryJSFiles: z.record(z.string(), z.array(z.string())) });

interface PageSize {
  readonly route: string;
  readonly files: number;
  readonly bytes: number;
}

const sizes = new Map<string, number>();

function gzippedSize(file: string): number {
  const known = sizes.get(file);
  if (known !== undefined) return known;
  const size = gzipSync(readFileSync(join(buildDir, file))).byteLength;
  sizes.set(file, size);
  return size;
}

function measure(manifestPath: string, rootFiles: readonly string[]): PageSize {
  const text = readFileSync(manifestPath, 'utf8');
  const json = /\]\s*=\s*(\{.*\});?\s*$/s.exec(text)?.[1];
  if (json === undefined) throw new Error(`${manifestPath} is not a manifest as this version of Next writes them`);
  const { entryJSFiles } = pageManifest.parse(JSON.parse(json));
  // Only a failure of the root layout loads the global error page.
  const entries = Object.entries(entryJSFiles).filter(([entry]) => !entry.endsWith('/global-error'));
  const files = new Set([...rootFiles, ...entries.flatMap(([, chunks]) => chunks)]);
  const folder = relative(appDir, join(manifestPath, '..'));
  return {
    route: `/${folder}`,
    files: files.size,
    bytes: [...files].reduce((sum, file) => sum + gzippedSize(file), 0),
  };
}

const { rootMainFiles } = buildManifest.parse(JSON.parse(readFileSync(join(buildDir, 'build-manifest.json'), 'utf8')));
const pages = readdirSync(appDir, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith(MANIFEST) && !path.startsWith('_'))
  .map((path) => measure(join(appDir, path), rootMainFiles))
  .sort((left, right) => right.bytes - left.bytes);
if (pages.length === 0) throw new Error(`no page was found in ${appDir}: run next build first`);

const lines = pages.map((page) => {
  const mark = page.bytes > BOUND_BYTES ? '  above the bound' : '';
  return `${(page.bytes / 1024).toFixed(1).padStart(7)} KB  ${String(page.files).padStart(2)} files  ${page.route}${mark}`;
});
process.stdout.write(
  `First-load JavaScript, gzipped; bound ${(BOUND_BYTES / 1024).toFixed(0)} KB a page\n${lines.join('\n')}\n`,
);
if (pages.some((page) => page.bytes > BOUND_BYTES)) process.exitCode = 1;
