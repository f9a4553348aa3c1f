import type { HostView } from '@fairlead/core/host/schema';
import { expect, test } from 'vitest';
import { explainHost } from './host-state.ts';

const view: HostView = {
  host: 'shop.example.com',
  zone: 'example.com',
  isApex: false,
  records: [],
  aliasRecord: null,
  state: 'ready',
  found: { addresses: ['8.8.4.4'], aliases: [], challengeAlias: null, caa: null, ports: [], failure: null },
  foreignAddresses: [],
  missingAddresses: [],
  cdn: null,
  serversWithoutAddress: [],
  arePortsChecked: true,
  checkedAt: null,
  nextCheckAt: new Date(0),
  ownership: { record: {} as never, provenAt: null, conflict: null },
};
function elsewhere(foreignAddresses: string[], addresses: string[]): string {
  const found = { ...view.found, addresses } as HostView['found'];
  return explainHost({ ...view, state: 'resolves_elsewhere', foreignAddresses, found });
}

test('a host that leads elsewhere is told apart from one with a single wrong record', () => {
  expect(elsewhere(['1.2.3.4'], ['1.2.3.4'])).toContain("which isn't one of its servers");
  expect(elsewhere(['1.2.3.4'], ['8.8.4.4', '1.2.3.4'])).toContain('but also to 1.2.3.4. Remove that record:');
  expect(elsewhere(['2a00::1'], ['8.8.4.4', '2a00::1'])).toContain('Remove that AAAA record:');
  expect(elsewhere(['1.2.3.4', '1.2.3.5'], ['8.8.4.4', '1.2.3.4', '1.2.3.5'])).toContain('Remove these records:');
});

test('a port is named with its address', () => {
  const ports = [
    { address: '8.8.4.4', port: 80 as const, answer: 'other' as const },
    { address: '8.8.4.4', port: 443 as const, answer: 'proxy' as const },
  ];
  const found = { ...view.found, ports } as HostView['found'];
  expect(explainHost({ ...view, state: 'port_taken', found })).toContain(
    'at port 80 of 8.8.4.4 another program answers',
  );
});
