import { expect, test } from 'vitest';
import { toSlug } from '../kernel/index.ts';
import { type AppFacts, appStatus, pickSlug } from './rules.ts';

const healthy: AppFacts = {
  hasLiveRelease: true,
  serverConnected: true,
  lastDeploymentState: 'live',
  copies: [{ working: 1, wanted: 1 }],
};

test('the status of an app follows from its facts', () => {
  expect(appStatus(healthy)).toBe('healthy');
  // Surplus copies on one server do not make up for missing ones on another.
  const uneven = [
    { working: 3, wanted: 2 },
    { working: 1, wanted: 2 },
  ];
  expect(appStatus({ ...healthy, copies: uneven })).toBe('unhealthy');
  expect(appStatus({ ...healthy, lastDeploymentState: 'failed' })).toBe('healthy');
  expect(appStatus({ ...healthy, lastDeploymentState: 'building' })).toBe('deploying');
  expect(appStatus({ ...healthy, serverConnected: false })).toBe('server_offline');
  expect(appStatus({ ...healthy, hasLiveRelease: false, lastDeploymentState: 'failed' })).toBe('failed');
  expect(appStatus({ ...healthy, hasLiveRelease: false, lastDeploymentState: null })).toBe('not_deployed');
  expect(appStatus({ ...healthy, hasLiveRelease: false, lastDeploymentState: null, serverConnected: false })).toBe(
    'not_deployed',
  );
});

test('a slug keeps the characters that a URL may have, and gets a suffix if it is taken', () => {
  expect(toSlug('Shop – Café №2')).toBe('shop-cafe-no2');
  expect(toSlug('店')).toBe('');
  expect(pickSlug('shop', new Set())).toBe('shop');
  expect(pickSlug('shop', new Set(['shop', 'shop-2']))).toBe('shop-3');
  expect(pickSlug('new', new Set())).toBe('new-2');
});
