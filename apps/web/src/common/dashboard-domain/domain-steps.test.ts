import type { HostState } from '@fairlead/core/host/schema';
import { expect, test } from 'vitest';
import type { DashboardDomain } from '../../api/types.ts';
import { dnsStep } from './domain-steps.ts';

const found = { addresses: ['8.8.4.4'], aliases: [], challengeAlias: null, caa: null, ports: [], failure: null };
const stepOf = (state: HostState) =>
  dnsStep({
    dns: { host: 'panel.example.com', state, found, foreignAddresses: [], cdn: null },
  } as never as DashboardDomain).state;

test.each(['check_failed', 'proxied', 'caa_blocks', 'port_closed', 'port_taken'] as const)(
  'the step of the records fails at %s',
  (state) => expect(stepOf(state)).toBe('failed'),
);

test('the step of the records runs until a server answers', () => {
  expect(stepOf('pending')).toBe('running');
  expect(stepOf('ready')).toBe('done');
});
