import { expect, test } from 'vitest';
import { loadAddresses } from './load-addresses.ts';

const none = { interfaceAddresses: [], enteredAddresses: [], connectionAddress: null };

test('addresses come once, and none that leads to no certain other machine', () => {
  const target = {
    interfaceAddresses: [
      ...['10.0.0.7', '127.0.0.1', '127.9.9.9', '0.0.0.0', '169.254.169.254', '224.0.0.1', '255.255.255.255'],
      ...['::1', '::', 'fe80::1', 'ff02::1', '::ffff:127.0.0.1', '::ffff:7f00:1', 'fd00::7', 'unknown'],
    ],
    enteredAddresses: ['203.0.113.7', '10.0.0.7'],
    connectionAddress: '203.0.113.7',
  };
  expect(loadAddresses(target, none)).toEqual(['10.0.0.7', 'fd00::7', '203.0.113.7']);
});

test('an address of the load server itself is left out', () => {
  const target = { ...none, interfaceAddresses: ['172.17.0.1', '10.0.0.7'] };
  expect(loadAddresses(target, { interfaceAddresses: ['172.17.0.1'] })).toEqual(['10.0.0.7']);
});
