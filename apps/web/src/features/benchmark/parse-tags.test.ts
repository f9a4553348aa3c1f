import { expect, test } from 'vitest';
import { parseTags } from './parse-tags.ts';

test('tags are separated by commas, and each is named once', () => {
  expect(parseTags(' nightly,TLS 1.3 , nightly,, ')).toEqual(['nightly', 'TLS 1.3']);
  expect(parseTags('')).toEqual([]);
});
