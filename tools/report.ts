// `npm run report [-- FILE…] [--out DIR] [--write]`: draws committed benchmark rows as static pages and prints their
// folder. `--write` also writes docs/performance.md from the same rows.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type BenchmarkDocument, readBenchmarkDocument } from '@fairlead/core/benchmark/document';
import { renderImage } from '@fairlead/report/image';
import { renderList } from '@fairlead/report/list-page';
import { renderMarkdown } from '@fairlead/report/markdown';
import { type Report, renderReport, reportOf } from '@fairlead/report/page';
import { type Reference, referenceSchema, referenceSection } from '@fairlead/report/reference';
import { ROOT } from './lib/command.ts';

const BENCHMARKS = 'docs/benchmarks';
export const PAGE = 'docs/performance.md';

interface Rows {
  /** File name without its extension. */
  readonly name: string;
  readonly document: BenchmarkDocument;
}

/** Reads the committed rows, or those of the given files, in the order of their names. */
export function readRows(root: string, files: readonly string[] = []): Rows[] {
  const paths =
    files.length > 0
      ? files
      : globSync('*.json', { cwd: join(root, BENCHMARKS, 'rows') }).map((name) => join(root, BENCHMARKS, 'rows', name));
  return [...paths].sort().map((path) => ({
    name: basename(path, '.json'),
    document: readBenchmarkDocument(JSON.parse(readFileSync(path, 'utf8'))),
  }));
}

export function readReferences(root: string): Reference[] {
  const folder = join(root, BENCHMARKS, 'reference');
  const names = globSync('*.json', { cwd: folder }).sort();
  return names.map((name) => referenceSchema.parse(JSON.parse(readFileSync(join(folder, name), 'utf8'))));
}

/** Writes a page, its rows and its image for each document, and the list of all. */
export async function writePages(
  folder: string,
  rows: readonly Rows[],
  references: readonly Reference[],
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const after = referenceSection(references);
  const entries: { report: Report; url: string }[] = [];
  for (const { name, document } of rows) {
    const report = reportOf(document);
    const options = { rowsUrl: `${name}.json`, imageUrl: `${name}.png`, isIndexed: true };
    writeFileSync(join(folder, `${name}.html`), renderReport(report, after === '' ? options : { ...options, after }));
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(document)}\n`);
    writeFileSync(join(folder, `${name}.png`), await renderImage(report));
    entries.push({ report, url: `${name}.html` });
  }
  writeFileSync(join(folder, 'index.html'), renderList(entries, after));
}

/** Returns docs/performance.md. */
export function performancePage(rows: readonly Rows[], references: readonly Reference[]): string {
  const reports = rows.map(({ name, document }) => ({
    report: reportOf(document),
    rowsPath: `benchmarks/rows/${name}.json`,
  }));
  return renderMarkdown(reports, references);
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { out: { type: 'string', default: join(ROOT, '.report') }, write: { type: 'boolean', default: false } },
  });
  if (values.write && positionals.length > 0) throw new Error('--write takes all committed rows: name no file.');
  const rows = readRows(ROOT, positionals);
  const references = readReferences(ROOT);
  const folder = resolve(values.out);
  await writePages(folder, rows, references);
  if (values.write) {
    writeFileSync(join(ROOT, PAGE), performancePage(rows, references));
    console.log(`wrote ${PAGE}`);
  }
  console.log(`${rows.length} reports, ${references.length} sources of figures published elsewhere`);
  console.log(folder);
}
