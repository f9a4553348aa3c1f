// Tests of globs: what each form matches, and that no glob makes a match slow.
import { describe, expect, test } from 'vitest';
import { matcherOf, matchesGlob } from './globs.ts';

describe('a glob', () => {
  test.each([
    ['v*', 'v1.2.0', true],
    ['v*', 'v1/2', false],
    ['v?.[0-9]', 'v1.2', true],
    ['v[!0-9]', 'v1', false],
    ['[^a]b', 'cb', true],
    ['[]x]', ']', true],
    ['[ab', '[ab', true],
    ['apps/web/**', 'apps/web/a/b.ts', true],
    ['apps/web/**', 'apps/website/a.ts', false],
    ['**/package.json', 'package.json', true],
    ['**/package.json', 'apps/web/package.json', true],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**/b', 'a/x/y/c', false],
    ['**', '.github/workflows/ci.yml', true],
    ['*.{ts,tsx}', 'a.tsx', true],
    ['{apps,packages/{ui,core}}/**', 'packages/core/a.ts', true],
    ['{apps,packages/{ui,core}}/**', 'packages/db/a.ts', false],
    ['{a}', '{a}', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['a*b*c', 'a1b2b3c', true],
    ['a*b*c', 'a1b2b3', false],
  ])('%s and %s: %s', (glob, path, expected) => expect(matchesGlob(glob, path)).toBe(expected));
});

test('a list matches what one glob names and none excludes; a folder stands for everything in it', () => {
  const matches = matcherOf(['apps/web/', '!**/*.md']);
  expect(['apps/web/a.ts', 'apps/web/a.md', 'apps/api/a.ts'].map(matches)).toEqual([true, false, false]);
  expect(matcherOf(['!docs/**'])('apps/a.ts')).toBe(true);
});

test('globs that take exponential time as regular expressions end at once', () => {
  const letters = 'a'.repeat(4_000);
  expect(matchesGlob(`**/${'*a'.repeat(90)}b`, letters)).toBe(false);
  expect(matchesGlob('+(a*a*|aa*)b', letters)).toBe(false);
  expect(matchesGlob(`${'**/'.repeat(60)}b`, 'a/'.repeat(2_000))).toBe(false);
  expect(matchesGlob('{a,b}'.repeat(40), 'x')).toBe(false);
});
