import { newId } from '@fairlead/contract/ids';
import { changeKinds } from '@fairlead/contract/live';
import { expect, test } from 'vitest';
import { changesAfterGap, matchesTopics } from './topics.ts';

const organizationId = newId('org');
const appId = newId('app');
const deploymentId = newId('dep');

test('an app topic matches the app and its deployments, and no other app', () => {
  const topics = [{ kind: 'app', id: appId }] as const;
  expect(matchesTopics(topics, { organizationId, kind: 'app', id: appId })).toBe(true);
  expect(matchesTopics(topics, { organizationId, kind: 'deployment', id: deploymentId, appId })).toBe(true);
  expect(matchesTopics(topics, { organizationId, kind: 'deployment', id: deploymentId, appId: newId('app') })).toBe(
    false,
  );
});

test('an organization topic matches everything in it and nothing outside', () => {
  const topics = [{ kind: 'organization', id: organizationId }] as const;
  expect(matchesTopics(topics, { organizationId, kind: 'server', id: newId('srv') })).toBe(true);
  expect(matchesTopics(topics, { organizationId: newId('org'), kind: 'app', id: appId })).toBe(false);
});

test('after a gap each topic counts as changed, the organization in all kinds', () => {
  expect(
    changesAfterGap([
      { kind: 'app', id: appId },
      { kind: 'app', id: appId },
    ]),
  ).toEqual([{ type: 'changed', kind: 'app', id: appId }]);
  expect(changesAfterGap([{ kind: 'organization', id: organizationId }])).toHaveLength(changeKinds.length);
});
