import { expect, test } from 'vitest';
import { serverInput } from './filter.ts';

test('what needs attention is one more filter of servers', () => {
  const params = new URLSearchParams('search=shop&state=none&attention=disk_short');
  const input = serverInput((name) => params.get(name) ?? '');
  expect(input).toMatchObject({ search: 'shop', attention: { kind: 'disk_short' } });
  expect(input).not.toHaveProperty('state');
});
