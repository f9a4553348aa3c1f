import { expect, test } from 'vitest';
import { addressRecords, aliasRecord, nameAndParents, proofRecord, zoneOf } from './records.ts';

const servers = [{ name: 'berlin', addresses: ['8.8.4.4', '2a01::7'] }];

const nothing = { addresses: [], aliases: [], challengeAlias: null, caa: null, ports: [], failure: null };

test('records are named relative to the registrable domain', () => {
  const names = (host: string) => addressRecords(host, servers, null).map(({ type, name }) => `${name} ${type}`);
  expect(names('example.co.uk')).toEqual(['@ A', '@ AAAA']);
  expect(names('shop.eu.example.co.uk')).toEqual(['shop.eu A', 'shop.eu AAAA']);
  expect(names('*.example.com')).toEqual(['* A', '* AAAA']);
  expect(zoneOf('shop.intern')).toBe('shop.intern');
});

test('a record is set if the last check saw it', () => {
  const findings = { ...nothing, addresses: ['8.8.4.4'] };
  const isSet = (failure: string | null) =>
    addressRecords('shop.example.com', servers, { ...findings, failure }).map((record) => record.isSet);
  expect(isSet(null)).toEqual([true, false]);
  expect(isSet('ETIMEOUT')).toEqual([null, null]);
});

test('an alias is set if the last check followed it', () => {
  const alias = (aliases: readonly string[], failure: string | null = null) =>
    aliasRecord('www.shop.example.com', 'shop.apps.example.net', { ...nothing, aliases: [...aliases], failure });
  expect(alias([])).toMatchObject({ type: 'CNAME', name: 'www.shop', value: 'shop.apps.example.net', isSet: false });
  expect(alias(['shop.apps.example.net', 'x.example.org']).isSet).toBe(true);
  expect(alias([], 'ETIMEOUT').isSet).toBeNull();
});

test('a wildcard is proven by the name below which it lies', () => {
  expect(proofRecord('*.apps.example.com', 'token', false)).toMatchObject({
    name: '_fairlead-challenge.apps',
    fullName: '_fairlead-challenge.apps.example.com',
    value: 'token',
  });
  expect(nameAndParents('a.b.example.com')).toEqual(['a.b.example.com', 'b.example.com', 'example.com']);
});
