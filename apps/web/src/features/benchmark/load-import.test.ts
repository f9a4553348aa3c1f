import { benchmarkPlanSchema } from '@fairlead/core/benchmark/schema';
import { expect, test } from 'vitest';
import { importHar, importUrls } from './load-import.ts';

const HOSTS = ['shop.example.test', '*.preview.example.test'];
const entry = (method: string, url: string, headers: Record<string, string> = {}, text?: string) => ({
  request: {
    method,
    url,
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    ...(text === undefined ? {} : { postData: { mimeType: 'application/json', text } }),
  },
});
const har = (...entries: object[]) => JSON.stringify({ log: { version: '1.2', entries } });

test('a HAR file becomes requests of the own hosts, without credentials', () => {
  const secret = { Cookie: 'sid=canary', Authorization: 'Bearer canary', 'X-CSRF-Token': 'canary' };
  const result = importHar(
    har(
      entry('GET', 'https://shop.example.test/', { ...secret, Accept: 'text/html', 'If-None-Match': '"1"' }),
      entry('GET', 'https://shop.example.test/', { Accept: 'text/html', 'User-Agent': 'browser' }),
      entry('POST', 'https://a.preview.example.test/orders?x=1', { 'Content-Type': 'application/json' }, '{"n":1}'),
      entry('GET', 'https://cdn.example.test/a.js', { Cookie: 'canary' }),
      entry('GET', 'https://shop.example.test.evil.test/'),
      entry('GET', 'https://shop.example.test/?access_token=canary'),
      entry('POST', 'https://shop.example.test/login', {}, '{"password":"canary"}'),
      entry('PROPFIND', 'https://shop.example.test/dav'),
    ),
    HOSTS,
  );
  expect(result).toEqual({
    requests: [
      { method: 'GET', path: '/', headers: { accept: 'text/html' }, body: '', weight: 2 },
      {
        ...{ method: 'POST', path: '/orders?x=1', body: '{"n":1}', weight: 1 },
        headers: { 'content-type': 'application/json' },
      },
    ],
    dropped: { otherHosts: 2, credentials: 3, withCredentials: 2, unsupported: 1 },
  });
  expect(JSON.stringify(result)).not.toContain('canary');
  const load = { requests: 'requests' in result ? result.requests : [] };
  expect(benchmarkPlanSchema.safeParse({ load }).success).toBe(true);
});

test('requests with credentials in their query are left out', () => {
  const names = ['api_key', 'access-key', 'PRIVATE_KEY', 'jwt', 'sid', 'csrf', 'pwd', 'sig', 'X-Amz-Signature', 'Code'];
  const paths = names.map((name) => `/a?${name}=canary`);
  const kept = ['/a?keyword=x', '/a?postcode=1', '/a?design=2'];
  const result = importUrls([...paths, ...kept].join('\n'), HOSTS);
  expect(result).toMatchObject({ dropped: { withCredentials: names.length } });
  expect('requests' in result && result.requests.map(({ path }) => path)).toEqual(kept);
});

test('a file that is no HAR is refused, and a long one is cut', () => {
  expect(importHar('{', HOSTS)).toEqual({ problem: 'The file is not valid JSON.' });
  expect(importHar('{"log":{}}', HOSTS)).toEqual({ problem: 'The file is not an HTTP Archive (HAR).' });
  const many = Array.from({ length: 60 }, (_, at) => entry('GET', `https://shop.example.test/${at}`));
  const result = importHar(har(...many), HOSTS);
  expect(result).toMatchObject({ dropped: { unsupported: 10 } });
  expect('requests' in result && result.requests.length).toBe(50);
});

test('a list of URLs takes methods, paths and weights', () => {
  const text = '/\n\nhttps://shop.example.test/cart?a=1 3\n post /orders 2 \nhttps://other.example.test/';
  expect(importUrls(text, HOSTS)).toMatchObject({
    requests: [
      { method: 'GET', path: '/', weight: 1 },
      { method: 'GET', path: '/cart?a=1', weight: 3 },
      { method: 'POST', path: '/orders', weight: 2 },
    ],
    dropped: { otherHosts: 1 },
  });
  expect(importUrls('/a\nnot a path', HOSTS)).toEqual({
    problem: 'Line 2 is not a method, a path or URL, and a weight.',
  });
});
