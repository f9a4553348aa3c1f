// Component tests of the log view: its columns, levels, colours and links, as the first render shows them.
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { jsonLine, type LogViewLine } from './lib/log-lines.ts';
import { plainText } from './lib/plain-text.ts';
import { LogView, type LogViewProps } from './log-view.tsx';

function line(id: string, raw: string, changes: Partial<LogViewLine> = {}): LogViewLine {
  const text = plainText(raw);
  const own = { id, raw, text, group: '', level: null, system: false, unixMs: null, source: '', json: jsonLine(text) };
  return { ...own, ...changes };
}

function render(lines: readonly LogViewLine[], changes: Partial<LogViewProps> = {}): string {
  return renderToStaticMarkup(
    <LogView lines={lines} live={false} numbered empty="Nothing yet." fileName="a.log" {...changes} />,
  );
}

test('lines have numbers that link to them, and colours of the terminal', () => {
  const html = render([line('L1', '\u001b[32mok\u001b[0m done')]);
  expect(html).toContain('href="#L1"');
  expect(html).toContain('aria-label="Link to line 1"');
  expect(html).toContain('<span class="text-ok-text">ok</span> done');
});

test('only errors are red, and are named for readers who hear the page', () => {
  const html = render([line('L1', 'npm warn old'), line('L2', 'npm error missing', { level: 'error' })]);
  expect(html.match(/ bg-bad-wash/g)).toHaveLength(1);
  expect(html).toContain('<span class="sr-only">Error: </span>');
  expect(html).toContain('Jump to error');
  expect(render([line('L1', 'npm warn old', { level: 'warn' })])).not.toContain('Jump to error');
});

test('times show day and zone, and UTC on hover', () => {
  const html = render([line('T1', 'hello', { unixMs: Date.UTC(2026, 10, 28, 15, 5, 56, 123) })], { numbered: false });
  expect(html).toContain('title="2026-11-28 15:05:56.123 UTC"');
  expect(html).toMatch(/Nov 28|28 Nov/);
  expect(html).toMatch(/>UTC/);
});

test('the column of processes is as wide as the longest, and hidden with one process', () => {
  const one = [line('T1', 'a', { source: 'web' }), line('T2', 'b', { source: 'web' })];
  expect(render(one, { numbered: false })).not.toContain('--source-width');
  expect(render([...one, line('T3', 'c', { source: 'fairlead' })], { numbered: false })).toContain(
    '--source-width:8ch',
  );
});

test('a JSON line shows its message and its fields', () => {
  const html = render([line('T1', '{"level":"info","msg":"served","status":200}')], { onField: () => undefined });
  expect(html).toContain('served');
  expect(html).toContain('status=</span>200');
  expect(html).toContain('title="Filter by status"');
});

test('a filtered log marks the text and leads to the lines around each match', () => {
  const html = render([line('T1', 'payment failed')], {
    filteredBy: 'payment',
    contextHrefOf: ({ id }) => `?at=${id}`,
    histogram: true,
  });
  expect(html).toContain('>payment</mark>');
  expect(html).toContain('href="?at=T1"');
  expect(html).not.toContain('Search the log');
  expect(html).toContain('aria-label="1 line over time, 0 errors"');
});

test('steps are groups that fold', () => {
  const html = render([line('L1', 'a', { group: 'clone' }), line('L2', 'b', { group: 'build' })], {
    initiallyFolded: ['clone'],
    groupTitle: (group) => group.toUpperCase(),
  });
  expect(html).toContain('CLONE');
  expect(html).toContain('aria-expanded="false"');
  expect(html).not.toContain('href="#L1"');
  expect(html).toContain('href="#L2"');
});

test('an empty log says so', () => expect(render([])).toContain('Nothing yet.'));
