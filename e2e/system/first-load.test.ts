// Pages stay light: what a browser must load before a page lives is bounded, page by page.
import { expect, test } from 'vitest';
import { measureFirstLoad } from '../perf/first-load.ts';

test('no page makes a browser load more JavaScript than its bound', async () => {
  const pages = await measureFirstLoad();
  expect(pages.length).toBeGreaterThan(15);
  expect(pages.filter(({ kept }) => !kept)).toEqual([]);
});
