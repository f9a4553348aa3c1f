// Figures of others: their committed files fit the schema, and they stay apart from measured ones.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { renderList } from './list-page.ts';
import { renderMarkdown } from './markdown.ts';
import { renderReport, reportOf } from './page.ts';
import { referenceSchema, referenceSection } from './reference.ts';
import { peersDocument } from './testing.ts';

const DOCS = new URL('../../../docs/benchmarks/', import.meta.url);
const references = globSync('*.json', { cwd: new URL('reference/', DOCS) })
  .sort()
  .map((name) => referenceSchema.parse(JSON.parse(readFileSync(new URL(`reference/${name}`, DOCS), 'utf8'))));

// `UPDATE_SCHEMA=1` writes it.
test('docs/benchmarks/reference.schema.json describes the files of figures', () => {
  const file = new URL('reference.schema.json', DOCS);
  const schema = { title: 'Benchmark figures published elsewhere', ...z.toJSONSchema(referenceSchema) };
  if (process.env.UPDATE_SCHEMA !== undefined) writeFileSync(file, `${JSON.stringify(schema, null, 2)}\n`);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(JSON.stringify(schema)));
});

test('a row with a missing figure is refused', () => {
  const [reference] = references;
  const table = { title: 'Load', columns: [{ metric: 'p99', unit: 'ms', concurrency: null }], rows: [] };
  const of = (values: number[]) => ({ ...reference, tables: [{ ...table, rows: [{ target: 'nginx', values }] }] });
  expect(referenceSchema.safeParse(of([1])).success).toBe(true);
  expect(referenceSchema.safeParse(of([])).success).toBe(false);
});

describe('figures published elsewhere', () => {
  const section = referenceSection(references);

  test('are shown as they were published, with their source and without ratios', () => {
    const text = section === '' ? '' : section.text;
    for (const { title } of references) expect(text).toContain(title);
    expect(text).toContain('17,698');
    expect(text).toContain('0.4162');
    expect(text).toContain('tako-sh/performance, results/20260602T052009Z');
    expect(text).not.toContain('×');
  });

  test('do not change a measured table', () => {
    const report = reportOf(peersDocument());
    const options = { rowsUrl: 'rows.json', imageUrl: null, isIndexed: true };
    const alone = renderReport(report, options);
    if (section === '') throw new Error('no references');
    const beside = renderReport(report, { ...options, after: section });
    expect(beside.replace(section.text, '')).toBe(alone);
  });

  test('are a section of their own in the list and in Markdown', () => {
    const report = reportOf(peersDocument());
    const list = renderList([{ report, url: 'peers.html' }], section);
    expect(list.indexOf('Measured here')).toBeLessThan(list.indexOf('Published elsewhere'));
    expect(list).toContain('<a href="peers.html">Fairlead beside its peers</a>');
    const markdown = renderMarkdown([{ report, rowsPath: 'benchmarks/rows/peers.json' }], references);
    const [measured = '', published = ''] = markdown.split('## Published elsewhere');
    expect(measured).toContain('[39 raw rows](benchmarks/rows/peers.json)');
    expect(measured).toContain('| Target | 32 | 200 | 1,000 |');
    expect(measured).not.toContain('17,698');
    expect(published).not.toContain('×');
  });

  test('and text in Markdown stays text', () => {
    const document = { ...peersDocument(), title: 'a | b [c](d) <img>' };
    const markdown = renderMarkdown([{ report: reportOf(document), rowsPath: 'rows.json' }], []);
    expect(markdown).toContain('### a \\| b \\[c\\](d) \\<img\\>');
    expect(renderMarkdown([], [])).toContain('No rows are committed yet.');
  });
});
