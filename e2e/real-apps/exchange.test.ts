import { expect, test } from 'vitest';
import { faultOf, pathOf } from './exchange.ts';

const answer = { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<h1>Hello</h1>' };

test.each([
  ['another status', { path: '/', status: 201 }, 'GET / answered 200 instead of 201'],
  ['another type', { path: '/', contentType: 'text/css' }, 'instead of "text/css"'],
  ['another text', { path: '/', contains: 'Goodbye' }, 'lacks "Goodbye"'],
])('%s is a fault', (_, exchange, text) => {
  expect(faultOf(exchange, exchange.path, answer)).toContain(text);
});

test('the expected response has no fault', () => {
  expect(faultOf({ path: '/', contains: 'Hello', contentType: 'text/html' }, '/', answer)).toBeUndefined();
});

test('a pattern matches a path on the first page', () => {
  const page = '<script src="/assets/index-C0ffee.js"></script>';
  expect(pathOf({ path: /\/assets\/[\w.-]+\.js/ }, page)).toBe('/assets/index-C0ffee.js');
  expect(pathOf({ path: /assets\/[\w.-]+\.js/ }, page)).toBe('/assets/index-C0ffee.js');
  expect(pathOf({ path: /\/static\/\w+/ }, page)).toBeUndefined();
  expect(pathOf({ path: '/about' }, page)).toBe('/about');
});
