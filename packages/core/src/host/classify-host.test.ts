import { expect, test } from 'vitest';
import { checkPauseMs, classifyHost, readCaa } from './classify-host.ts';
import type { Findings } from './schema.ts';

const nothing: Findings = {
  addresses: [],
  aliases: [],
  challengeAlias: null,
  caa: null,
  ports: [],
  failure: null,
};
const servers = [
  { name: 'berlin', addresses: ['8.8.4.4', '2a01::7'] },
  { name: 'paris', addresses: ['9.9.9.9'] },
];
const all = ['8.8.4.4', '2a01::7', '9.9.9.9'];
const classify = (findings: Partial<Findings>, of = servers) => classifyHost({ ...nothing, ...findings }, of);

test('a host is pending until its first check, and an outage of the DNS says nothing about it', () => {
  expect(classifyHost(null, servers).state).toBe('pending');
  expect(classify({ failure: 'ETIMEOUT' }).state).toBe('check_failed');
});

test('each state is found by its cause, the first one in the way', () => {
  expect(classify({}).state).toBe('not_resolving');
  expect(classify({ addresses: ['8.8.4.4'] }, []).state).toBe('address_unknown');
  expect(classify({ addresses: [...all, '1.2.3.4'] })).toMatchObject({
    state: 'resolves_elsewhere',
    foreignAddresses: ['1.2.3.4'],
  });
  expect(classify({ addresses: ['8.8.4.4', '9.9.9.9'] })).toMatchObject({
    state: 'partial',
    missingAddresses: ['2a01::7'],
  });
  // One wrong family is enough: visitors and authorities with IPv6 prefer it.
  expect(classify({ addresses: ['8.8.4.4', '2001:470::1', '9.9.9.9'] })).toMatchObject({
    state: 'resolves_elsewhere',
    foreignAddresses: ['2001:470::1'],
    missingAddresses: ['2a01::7'],
  });
  const caa = { name: 'example.com', issuers: ['other.example'], allows: false };
  expect(classify({ addresses: all, caa }).state).toBe('caa_blocks');
  const ports = [
    { address: '9.9.9.9', port: 80 as const, answer: 'proxy' as const },
    { address: '8.8.4.4', port: 80 as const, answer: 'other' as const },
    { address: '9.9.9.9', port: 443 as const, answer: 'none' as const },
  ];
  expect(classify({ addresses: all, ports }).state).toBe('port_closed');
  expect(classify({ addresses: all, ports: ports.slice(0, 2) }).state).toBe('port_taken');
  expect(classify({ addresses: all, ports: ports.slice(0, 1) }).state).toBe('ready');
});

test('a CDN is known by its addresses and by its aliases, and is none where it leads to the servers', () => {
  expect(classify({ addresses: ['104.16.1.1'] })).toMatchObject({ state: 'proxied', cdn: 'Cloudflare' });
  expect(classify({ addresses: ['1.2.3.4'], aliases: ['d1.cloudfront.net'] })).toMatchObject({
    cdn: 'Amazon CloudFront',
  });
  expect(classify({ addresses: all, aliases: ['x.cloudfront.net'] })).toMatchObject({ state: 'ready', cdn: null });
  expect(classify({ addresses: ['1.2.3.4'], aliases: ['notcloudfront.net'] }).cdn).toBeNull();
  expect(classify({ addresses: ['2606:4700::6810:1'] })).toMatchObject({ state: 'proxied', cdn: 'Cloudflare' });
  // A CDN shows none of the servers: beside one of them, its address was left behind.
  expect(classify({ addresses: ['8.8.4.4', '104.16.1.1'] })).toMatchObject({
    state: 'resolves_elsewhere',
    foreignAddresses: ['104.16.1.1'],
    cdn: null,
  });
});

test('CAA records allow the authorities that they name', () => {
  const read = (records: Parameters<typeof readCaa>[0], isWildcard = false) =>
    readCaa(records, ['letsencrypt.org'], isWildcard).allows;
  expect(read([{ issue: 'letsencrypt.org; validationmethods=http-01' }])).toBe(true);
  expect(read([{ issue: 'other.example' }])).toBe(false);
  expect(read([{ issue: ';' }])).toBe(false);
  // Only `issue` and `issuewild` restrict.
  expect(read([{}])).toBe(true);
  expect(read([{ issue: 'letsencrypt.org' }, { issuewild: ';' }], true)).toBe(false);
  expect(read([{ issue: 'letsencrypt.org' }, { issuewild: ';' }])).toBe(true);
});

test('checks are frequent at first, rare later, and daily once the host is ready', () => {
  const minute = 60_000;
  expect([0, 11, 61, 25 * 60].map((minutes) => checkPauseMs('not_resolving', minutes * minute))).toEqual([
    10_000,
    minute,
    10 * minute,
    60 * minute,
  ]);
  expect([0, 10 * minute].map((inStateMs) => checkPauseMs('ready', inStateMs))).toEqual([minute, 24 * 60 * minute]);
});
