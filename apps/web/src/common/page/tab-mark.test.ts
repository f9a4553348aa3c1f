import { expect, test } from 'vitest';
import { markedIcon, markedTitle } from './tab-mark.ts';

test('a tab says by sign and word what its page shows', () => {
  expect(markedTitle('busy', 'Building', 'hello #12')).toBe('● Building · hello #12');
  expect(markedTitle('failed', 'Failed', 'hello #12')).toBe('✕ Failed · hello #12');
});

test('each state has an icon of its own, which needs no request', () => {
  const icons = (['busy', 'waiting', 'failed'] as const).map(markedIcon);
  expect(new Set(icons).size).toBe(3);
  for (const icon of icons) expect(icon).toMatch(/^data:image\/svg\+xml,/);
});
