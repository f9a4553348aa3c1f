import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DOC_PAGES } from '../../common/page/docs.ts';
import { hrefOfDoc } from './doc-link.ts';
import { type Block, parseMarkdown } from './markdown.ts';

const root = join(import.meta.dirname, '../../../../..');
const read = (file: string) => parseMarkdown(readFileSync(join(root, 'docs', `${file}.md`), 'utf8'));

const text = (content: string) => ({ kind: 'text' as const, text: content });
const paragraph = (content: string) => ({ kind: 'paragraph' as const, parts: [text(content)] });

test('blocks of each kind', () => {
  const source =
    '# A `b`\n\nOne\ntwo.\n\n- x\n  goes on\n- y\n\n| a | b |\n|---|---|\n| 1 | c \\| d |\n\n```sh\nls | wc\n```\n\n> note';
  expect(parseMarkdown(source)).toEqual<Block[]>([
    { kind: 'heading', level: 1, id: 'a-b', text: 'A b' },
    paragraph('One two.'),
    { kind: 'list', isOrdered: false, items: [[paragraph('x goes on')], [paragraph('y')]] },
    { kind: 'table', head: [[text('a')], [text('b')]], rows: [[[text('1')], [text('c | d')]]] },
    { kind: 'code', text: 'ls | wc' },
    { kind: 'quote', blocks: [paragraph('note')] },
  ]);
});

test('a list holds further blocks, and equal headings have anchors of their own', () => {
  expect(parseMarkdown('1. Run\n\n   ```sh\n   ls\n   ```\n\n   - a\n\n## Use it\n\n## Use it')).toEqual<Block[]>([
    {
      kind: 'list',
      isOrdered: true,
      items: [
        [paragraph('Run'), { kind: 'code', text: 'ls' }, { kind: 'list', isOrdered: false, items: [[paragraph('a')]] }],
      ],
    },
    { kind: 'heading', level: 2, id: 'use-it', text: 'Use it' },
    { kind: 'heading', level: 2, id: 'use-it-1', text: 'Use it' },
  ]);
});

test('marks inside of a line', () => {
  expect(parseMarkdown('Use **npm** with `a*b*`, see [the `x` page](x.md#y) \\*.')).toEqual([
    {
      kind: 'paragraph',
      parts: [
        text('Use '),
        { kind: 'strong', text: 'npm' },
        text(' with '),
        { kind: 'code', text: 'a*b*' },
        text(', see '),
        { kind: 'link', text: 'the x page', href: 'x.md#y' },
        text(' *.'),
      ],
    },
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
    for (const plain of blocks.flatMap(textsOf)) expect(plain).not.toMatch(/\]\(|\*\*|`/);
  },
);

/** Texts outside of code. */
function textsOf(block: Block): string[] {
  if (block.kind === 'paragraph') return block.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  if (block.kind === 'quote') return block.blocks.flatMap(textsOf);
  return block.kind === 'list' ? block.items.flat().flatMap(textsOf) : [];
}
