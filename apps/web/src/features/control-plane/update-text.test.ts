import { expect, test } from 'vitest';
import { sectionsOf } from './update-text.tsx';

test('a changelog is read as headings and items, without the marks of Markdown', () => {
  expect(
    sectionsOf(
      '### Added\n\n- A `button` in **Settings**\n  and a [page](docs/x.md).\n- More.\n\n### Fixed\n- A fault.',
    ),
  ).toEqual([
    { title: 'Added', items: ['A button in Settings and a page.', 'More.'] },
    { title: 'Fixed', items: ['A fault.'] },
  ]);
  expect(sectionsOf('Only a sentence.')).toEqual([{ title: '', items: ['Only a sentence.'] }]);
  expect(sectionsOf('')).toEqual([]);
});
