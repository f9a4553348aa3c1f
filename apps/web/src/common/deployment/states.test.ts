import { expect, test } from 'vitest';
import { nameOfRequester } from './states.ts';

test.each([
  ['a member', { trigger: 'manual', actorName: 'Ada', requestedByName: 'Ada' }, 'Ada'],
  ['a machine', { trigger: 'rollback', actorName: null, requestedByName: 'Ada' }, 'API token of Ada'],
  ['a machine without a maker', { trigger: 'api', actorName: null, requestedByName: null }, 'API token'],
  ['the system', { trigger: 'system', actorName: null, requestedByName: null }, 'Fairlead'],
] as const)('the requester is named: %s', (_, deployment, name) => {
  expect(nameOfRequester(deployment)).toBe(name);
});
