// Static reports: docs/performance.md is what the committed rows give, and each document gets its files.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { peersDocument } from '@fairlead/report/testing';
import { expect, test } from 'vitest';
import { ROOT } from './lib/command.ts';
import { PAGE, performancePage, readReferences, readRows, writePages } from './report.ts';

test('docs/performance.md has no figure that the rows do not give (`npm run report -- --write`)', () => {
  expect(readFileSync(join(ROOT, PAGE), 'utf8')).toBe(performancePage(readRows(ROOT), readReferences(ROOT)));
});

test('each document gets a page, its rows and an image, and the list links them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-report-'));
  try {
    const file = join(folder, 'peers.json');
    writeFileSync(file, JSON.stringify(peersDocument()));
    const out = join(folder, 'out');
    await writePages(out, readRows(ROOT, [file]), readReferences(ROOT));
    expect(readdirSync(out).sort()).toEqual(['index.html', 'peers.html', 'peers.json', 'peers.png']);
    expect(readFileSync(join(out, 'index.html'), 'utf8')).toContain('<a href="peers.html">');
    expect(readRows(ROOT, [join(out, 'peers.json')]).map(({ document }) => document)).toEqual([peersDocument()]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
