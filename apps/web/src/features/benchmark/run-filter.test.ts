import { expect, test } from 'vitest';
import { runInput } from './run-filter.ts';

test('filters of the URL become input, and what the API would refuse is dropped', () => {
  const of = (query: string) => {
    const params = new URLSearchParams(query);
    return runInput((name) => params.get(name) ?? '');
  };
  expect(of('')).toEqual({});
  expect(of('search=%20shop%20&state=failed&app=app_1&server=srv_2&tag=nightly')).toEqual({
    search: 'shop',
    state: 'failed',
    appId: 'app_1',
    serverId: 'srv_2',
    tag: 'nightly',
  });
  expect(of('state=broken&app=srv_1&server=1')).toEqual({});
});
