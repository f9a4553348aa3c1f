import { expect, test } from 'vitest';
import { clientAddress } from './client-address.ts';

const ours = ['10.0.0.0/8', '127.0.0.1'];
const from = (forwarded: string | null, proxies = ours) =>
  clientAddress(new Headers(forwarded === null ? {} : { 'x-forwarded-for': forwarded }), proxies);

test('the address nearest to our own proxies is the client, with any text before it', () => {
  expect(from('203.0.113.9')).toBe('203.0.113.9');
  expect(from('198.51.100.1, 203.0.113.9, 10.0.0.4')).toBe('203.0.113.9');
  expect(from('::ffff:203.0.113.9')).toBe('203.0.113.9');
});

test('without a trusted proxy no address is believed, nor text that is no address', () => {
  expect(from('203.0.113.9', [])).toBeNull();
  expect(from(null)).toBeNull();
  expect(from('203.0.113.9, <script>')).toBeNull();
  expect(from('10.0.0.1')).toBeNull();
});
