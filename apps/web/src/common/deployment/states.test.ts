import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { decisionOf, lookOfDeployment, nameOfRequester } from './states.ts';

test.each([
  ['Building', { state: 'building', awaitsBuild: false, isCurrent: false }],
  ['Queued', { state: 'building', awaitsBuild: true, isCurrent: false }],
  ['Live', { state: 'live', awaitsBuild: false, isCurrent: true }],
  ['Succeeded', { state: 'live', awaitsBuild: false, isCurrent: false }],
] as const)('a deployment is %s: %j', (label, deployment) => {
  expect(lookOfDeployment(deployment).label).toBe(label);
});

test.each([
  ['a member', { trigger: 'manual', actorName: 'Ada', requestedByName: 'Ada' }, 'Ada'],
  ['a machine', { trigger: 'rollback', actorName: null, requestedByName: 'Ada' }, 'API token of Ada'],
  ['a machine without a maker', { trigger: 'api', actorName: null, requestedByName: null }, 'API token'],
  ['the system', { trigger: 'system', actorName: null, requestedByName: null }, 'Fairlead'],
  ['a pusher', { trigger: 'push', actorName: null, requestedByName: null, push: { sender: 'ada' } }, 'ada'],
  ['a pusher without a name', { trigger: 'push', actorName: null, requestedByName: null, commitAuthor: 'Ada' }, 'Ada'],
] as const)('the requester is named: %s', (_, deployment, name) => {
  const push = 'push' in deployment ? { deliveryId: newId('dlv'), ...deployment.push } : null;
  expect(nameOfRequester({ commitAuthor: null, ...deployment, push })).toBe(name);
});

test.each([
  ['without protection', null, null],
  ['before a decision', { state: 'pending', decidedByName: null }, null],
  ['ended before a decision', { state: 'withdrawn', decidedByName: null }, null],
  ['approved', { state: 'approved', decidedByName: 'Ada' }, { term: 'Approved', by: 'Ada' }],
  ['refused', { state: 'refused', decidedByName: 'Ada' }, { term: 'Rejected', by: 'Ada' }],
  ['by a deleted account', { state: 'refused', decidedByName: null }, { term: 'Rejected', by: 'a former member' }],
] as const)('names the member who decided about a deployment: %s', (_, approval, decision) => {
  expect(decisionOf({ approval })).toEqual(decision);
});
