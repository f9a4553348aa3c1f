import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { describeCommit } from '../kernel/text.ts';
import { groupsOf, type ItemRow, titleOfCause } from './describe-items.ts';

const now = new Date('2026-11-20T00:00:00Z');
const row = (kind: string, facts: ItemRow['facts'], changes: Partial<ItemRow> = {}): ItemRow => ({
  kind,
  cause: '',
  subject: 'subject',
  target: 'target',
  count: 1,
  facts,
  ...changes,
});

test('without a problem there is no group', () => {
  expect(groupsOf([], now)).toEqual([]);
});

test('the most urgent kind comes first, with its count and sentences', () => {
  const serverId = newId('srv');
  const groups = groupsOf(
    [
      row('secret_expiring', { name: 'API_KEY', ownerName: 'Shop', expiresAt: '2026-11-22T00:00:00Z' }),
      row('clock_offset', { name: 'rome', offsetMs: -3500 }),
      row('deployment_failed', { name: 'Shop', number: 7, environmentName: 'Production', message: null }),
      row('app_unhealthy', { name: 'Shop', working: 0, wanted: 2, environmentNames: 'Production' }),
      row('server_offline', { name: 'berlin' }, { target: serverId, count: 2 }),
    ],
    now,
  );
  expect(groups.map(({ title }) => title)).toEqual([
    '2 offline servers',
    '1 unhealthy app',
    '1 failed deployment',
    '1 server has a wrong clock',
    '1 secret expires soon',
  ]);
  const items = groups.map(({ causes }) => causes[0]?.items[0]);
  expect(items[0]).toMatchObject({ title: 'Server berlin is not connected', serverId });
  expect(items[1]?.detail).toContain('0 of 2 instances in Production');
  expect(items[2]).toMatchObject({ title: 'Deployment 7 of Shop to Production failed', detail: 'Its log says why.' });
  expect(items[3]?.detail).toContain('3.5 s behind');
  expect(items[4]?.title).toBe('API_KEY of Shop expires on 2026-11-22');
});

test('causes of failed deployments add up, the most frequent first, in words', () => {
  const failed = (cause: string, count: number) => row('deployment_failed', { name: 'Shop' }, { cause, count });
  const [group] = groupsOf(
    [failed('build.command_failed', 4), failed('rollout.unhealthy', 20), failed('of.tomorrow', 1)],
    now,
  );
  expect(group?.title).toBe('25 failed deployments');
  expect(group?.causes.map(({ title, count }) => [title, count])).toEqual([
    ['The app started, but its health check did not pass in time', 20],
    ['A command of the build failed', 4],
    ['Another cause', 1],
  ]);
  expect(titleOfCause('build.manifest_invalid')).toBe('The fairlead.toml or Procfile of the app has a mistake');
});

test('a request for approval names commit and author, or the branch before the commit is known', () => {
  const hash = '0123456789abcdef0123456789abcdef01234567';
  const facts = { commitHash: hash, commitSubject: 'Open the shop', commitAuthor: 'Ada', requester: 'Kim' };
  const [group] = groupsOf(
    [row('approval', { name: 'Shop', number: 3, environmentName: 'Production', ...facts })],
    now,
  );
  expect(group?.title).toBe('1 deployment waits for your approval');
  expect(group?.causes[0]?.items[0]).toMatchObject({
    title: 'Approve deployment 3 of Shop to Production',
    detail: 'Open the shop (0123456) by Ada. Requested by Kim.',
  });
  expect(describeCommit({ ref: 'main' })).toBe('Newest commit of main');
  expect(describeCommit({ ref: '' })).toBe('Newest commit of the default branch');
  expect(describeCommit({ commitHash: hash })).toBe('Commit 0123456');
});

test('certificates that failed or expire have a sentence with the cause and a link', () => {
  const certificateId = newId('crt');
  const certificate = (facts: ItemRow['facts']) =>
    row('certificate', { host: 'shop.example.test', source: 'acme', ...facts }, { target: certificateId, count: 4 });
  const notAfter = '2026-11-22T00:00:00+00:00';
  const [group] = groupsOf(
    [
      certificate({ state: 'issued', notAfter, message: 'The name does not resolve.' }),
      certificate({ state: 'failed', message: 'The name does not resolve.' }),
      certificate({ source: 'upload', state: 'issued', notAfter }),
      certificate({ source: 'upload', state: 'expired', notAfter }),
    ],
    now,
  );
  const items = group?.causes[0]?.items ?? [];
  expect(items.map(({ title, detail }) => `${title}: ${detail}`)).toEqual([
    'The certificate of shop.example.test was not renewed: It expires on 2026-11-22. The name does not resolve.',
    'shop.example.test has no certificate: The name does not resolve.',
    'The uploaded certificate of shop.example.test expires on 2026-11-22: Upload a new one: Fairlead renews only certificates that it ordered.',
    'The uploaded certificate of shop.example.test expired on 2026-11-22: Upload a new one: Fairlead renews only certificates that it ordered.',
  ]);
  expect(items[0]).toMatchObject({ certificateId, serverId: null, deploymentId: null });
});

test('a stuck build says that it exceeds its timeout, and a queued deployment that nothing is in front', () => {
  const facts = { name: 'Shop', number: 3, environmentName: 'Production' };
  const [group] = groupsOf(
    [
      row('deployment_stuck', { ...facts, state: 'building' }, { count: 2 }),
      row('deployment_stuck', { ...facts, state: 'queued' }, { count: 2 }),
    ],
    now,
  );
  expect(group?.causes[0]?.items.map(({ title }) => title)).toEqual([
    'The build of deployment 3 of Shop takes longer than its timeout',
    'Deployment 3 of Shop to Production does not start',
  ]);
});
