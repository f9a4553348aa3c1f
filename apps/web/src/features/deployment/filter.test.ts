import { expect, test } from 'vitest';
import { deploymentInput } from './filter.ts';

test('what needs attention is one more filter of deployments', () => {
  const params = new URLSearchParams('search=shop&state=none&attention=deployment_failed&cause=build.command_failed');
  const input = deploymentInput((name) => params.get(name) ?? '', 'UTC');
  expect(input).toMatchObject({
    search: 'shop',
    attention: { kind: 'deployment_failed', cause: 'build.command_failed' },
  });
  expect(input).not.toHaveProperty('state');
});
