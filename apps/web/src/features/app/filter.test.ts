import { expect, test } from 'vitest';
import { appInput } from './filter.ts';

test('what needs attention is one more filter of apps', () => {
  const params = new URLSearchParams('search=shop&state=none&attention=app_unhealthy');
  const input = appInput((name) => params.get(name) ?? '');
  expect(input).toMatchObject({ search: 'shop', attention: { kind: 'app_unhealthy' } });
  expect(input).not.toHaveProperty('state');
});
