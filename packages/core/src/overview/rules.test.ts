import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import type { ServerSummary } from '../server/index.ts';
import { attentionOf } from './rules.ts';

const server: ServerSummary = {
  id: newId('srv'),
  name: 'berlin',
  isLocal: false,
  state: 'online',
  connectedAt: null,
  lastSeenAt: null,
  agentVersion: '0.1.0',
  host: { hostname: '', os: '', kernel: '', arch: '', cpuCount: 2, memoryBytes: 0, diskBytes: 0, isolationOff: [] },
  inSync: true,
  refusedReason: null,
  clockOffsetMs: 0,
  appCount: 1,
  cpuMillis: null,
  memoryUsedBytes: null,
  memoryTotalBytes: null,
  diskUsedBytes: null,
  diskTotalBytes: null,
  cpuSparkline: [],
  diskWarning: null,
  capabilities: [],
  agentDigest: null,
  offeredAgent: null,
  upgrade: null,
  uninstall: null,
  createdAt: new Date(),
  drainedAt: null,
};
const nothing = { servers: [server], failed: [], unhealthy: [], expiring: [], now: new Date('2026-11-20T00:00:00Z') };

test('without a problem there is no sentence', () => {
  expect(attentionOf(nothing)).toEqual([]);
});

test('the worst comes first, in sentences, with a link', () => {
  const items = attentionOf({
    servers: [
      { ...server, state: 'offline' },
      { ...server, name: 'fresh', state: 'never_connected', appCount: 0 },
      { ...server, name: 'oslo', refusedReason: 'Upgrade the agent.' },
      { ...server, name: 'rome', clockOffsetMs: -3500 },
    ],
    failed: [{ deploymentId: newId('dep'), number: 7, appName: 'Shop', appSlug: 'shop', failureMessage: null }],
    unhealthy: [
      {
        appName: 'Shop',
        appSlug: 'shop',
        environmentId: newId('env'),
        environmentName: 'Production',
        healthy: 0,
        wanted: 2,
      },
    ],
    expiring: [{ name: 'API_KEY', ownerName: 'Shop', appSlug: 'shop', expiresAt: new Date('2026-11-22T00:00:00Z') }],
    now: nothing.now,
  });
  expect(items.map(({ kind }) => kind)).toEqual([
    'server_offline',
    'app_unhealthy',
    'deployment_failed',
    'server_refused',
    'clock_offset',
    'secret_expiring',
  ]);
  expect(items[5]?.title).toBe('API_KEY of Shop expires on 2026-11-22');
  expect(items[1]?.detail).toContain('0 of 2 instances in Production');
  expect(items[2]).toMatchObject({ appSlug: 'shop', detail: 'Its log says why.' });
  expect(items[4]?.detail).toContain('3.5 s behind');
});

test('a bad day does not fill the page', () => {
  const servers = Array.from({ length: 50 }, () => ({ ...server, state: 'offline' as const }));
  expect(attentionOf({ ...nothing, servers }).length).toBeLessThanOrEqual(8);
});
