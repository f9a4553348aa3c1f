import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DOC_PAGES } from '../../common/page/docs.ts';
import { hrefOfDoc } from './doc-link.ts';
import { type Block, parseInline, parseMarkdown } from './markdown.ts';

const root = join(import.meta.dirname, '../../../../..');
const read = (file: string) => parseMarkdown(readFileSync(join(root, 'docs', `${file}.md`), 'utf8'));

test('blocks of each kind', () => {
  const text =
    '# A `b`\n\nOne\ntwo.\n\n- x\n  goes on\n- y\n\n| a | b |\n|---|---|\n| 1 | c \\| d |\n\n```sh\nls | wc\n```\n\n> note';
  expect(parseMarkdown(text)).toEqual<Block[]>([
    { kind: 'heading', level: 1, id: 'a-b', text: 'A b' },
    { kind: 'paragraph', text: 'One two.' },
    { kind: 'list', isOrdered: false, items: ['x goes on', 'y'] },
    { kind: 'table', head: ['a', 'b'], rows: [['1', 'c | d']] },
    { kind: 'code', text: 'ls | wc' },
    { kind: 'quote', text: 'note' },
  ]);
});

test('marks inside of a line', () => {
  expect(parseInline('Use **npm** with `a*b*`, see [the `x` page](x.md#y).')).toEqual([
    { kind: 'text', text: 'Use ' },
    { kind: 'strong', text: 'npm' },
    { kind: 'text', text: ' with ' },
    { kind: 'code', text: 'a*b*' },
    { kind: 'text', text: ', see ' },
    { kind: 'link', text: 'the x page', href: 'x.md#y' },
    { kind: 'text', text: '.' },
  ]);
});

test('links between the documents lead to their pages, and others that the dashboard does not serve are text', () => {
  expect(hrefOfDoc('builds.md#watch-paths')).toBe('/docs/builds#watch-paths');
  expect(hrefOfDoc('api.md')).toBe('/docs/automation');
  expect(hrefOfDoc('#here')).toBe('#here');
  expect(hrefOfDoc('https://toml.io')).toBe('https://toml.io');
  expect(hrefOfDoc('adr/0001-x.md')).toBeNull();
  expect(hrefOfDoc('../CONTRIBUTING.md')).toBeNull();
  expect(hrefOfDoc('javascript:alert(1)')).toBeNull();
});

test.each(DOC_PAGES.map(({ name, file = name }) => [file]))(
  'docs/%s.md: a title, and no mark of Markdown is left',
  (file) => {
    const blocks = read(file);
    expect(blocks[0]).toMatchObject({ kind: 'heading', level: 1 });
    const texts = blocks.flatMap((block) =>
      block.kind === 'paragraph' ? [block.text] : block.kind === 'list' ? block.items : [],
    );
    for (const text of texts) {
      for (const part of parseInline(text)) {
        if (part.kind === 'text') expect(part.text, text).not.toMatch(/\]\(|\*\*|`/);
      }
    }
  },
);
