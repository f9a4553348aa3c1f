// Test of the limit on the JavaScript that each page loads first.
import { expect, test } from 'vitest';
import { measureFirstLoad } from '../perf/first-load.ts';

test('no page loads more JavaScript than its limit', async () => {
  const pages = await measureFirstLoad();
  expect(pages.length).toBeGreaterThan(15);
  expect(pages.filter(({ kept }) => !kept)).toEqual([]);
});
