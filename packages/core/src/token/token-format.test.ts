import { expect, test } from 'vitest';
import { isToken, newToken } from './token-format.ts';

test('a token is recognised only by its prefix, alphabet, length and checksum', () => {
  const token = newToken();
  expect(token).toMatch(/^flt_[0-9A-Za-z]{49}$/);
  expect(isToken(token)).toBe(true);
  expect(isToken(`${token}x`)).toBe(false);
  expect(isToken(token.replace('flt_', 'ghp_'))).toBe(false);
  const at = 20;
  const typo = `${token.slice(0, at)}${token[at] === 'a' ? 'b' : 'a'}${token.slice(at + 1)}`;
  expect(isToken(typo)).toBe(false);
});

test('no two are alike, and the smallest and largest numbers fit', () => {
  expect(new Set(Array.from({ length: 100 }, () => newToken())).size).toBe(100);
  for (const byte of [0, 255]) expect(isToken(newToken(Buffer.alloc(32, byte)))).toBe(true);
});
