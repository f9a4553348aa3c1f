import { expect, test } from 'vitest';
import { branchUrl, commitUrl } from './source-links.ts';

const HASH = 'a1b2c3d4e5f60718293a4b5c6d7e8f9012345678';

test.each([
  ['https://github.com/acme/shop', `https://github.com/acme/shop/commit/${HASH}`],
  ['https://github.com/acme/shop.git', `https://github.com/acme/shop/commit/${HASH}`],
  ['git@github.com:acme/shop.git', `https://github.com/acme/shop/commit/${HASH}`],
  ['ssh://git@gitlab.com/acme/web/shop.git', `https://gitlab.com/acme/web/shop/-/commit/${HASH}`],
  ['https://codeberg.org/acme/shop/', `https://codeberg.org/acme/shop/commit/${HASH}`],
  ['https://git.example.com/acme/shop', null],
  ['http://github.com/acme/shop', null],
  ['', null],
])('a commit of %s', (repository, url) => {
  expect(commitUrl(repository, HASH)).toBe(url);
});

test('an upload has no commit to link', () => {
  expect(commitUrl('https://github.com/acme/shop', '')).toBeNull();
  expect(commitUrl('https://github.com/acme/shop', 'sha256:12')).toBeNull();
});

test('a branch is linked by its name, the default branch is not', () => {
  expect(branchUrl('https://github.com/acme/shop', 'fix/a#1')).toBe('https://github.com/acme/shop/tree/fix/a%231');
  expect(branchUrl('https://github.com/acme/shop', '')).toBeNull();
});
