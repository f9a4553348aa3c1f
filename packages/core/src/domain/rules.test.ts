import { expect, test } from 'vitest';
import { pairedHost } from './rules.ts';

test.each([
  ['example.com', 'www.example.com'],
  ['www.example.com', 'example.com'],
  ['example.co.uk', 'www.example.co.uk'],
  ['www.example.co.uk', 'example.co.uk'],
  ['shop.example.com', null],
  ['*.example.com', null],
  ['shop.localhost', null],
  ['example.', null],
  ['www.com', null],
  ['', null],
])('the other host of %j is %j', (host, pair) => {
  expect(pairedHost(host)).toBe(pair);
});
