import { expect, test } from 'vitest';
import { detectedAddresses, publicAddresses } from './addresses.ts';

const none = { interfaceAddresses: [], connectionAddress: null, enteredAddresses: [] };

test('only public addresses are detected', () => {
  const interfaceAddresses = ['10.0.0.4', '172.17.0.1', '8.8.4.4', '2a01:4f8::7', 'fd00::1'];
  expect(detectedAddresses({ ...none, interfaceAddresses })).toEqual(['8.8.4.4', '2a01:4f8::7']);
  expect(detectedAddresses({ ...none, connectionAddress: '192.168.1.4' })).toEqual([]);
});

test('the address of the connection counts where no interface has a public one of its family', () => {
  const connectionAddress = '8.8.4.4';
  expect(detectedAddresses({ interfaceAddresses: ['10.0.0.4'], connectionAddress })).toEqual(['8.8.4.4']);
  expect(detectedAddresses({ interfaceAddresses: ['9.9.9.9'], connectionAddress })).toEqual(['9.9.9.9']);
  expect(detectedAddresses({ interfaceAddresses: ['2a01:4f8::7'], connectionAddress })).toEqual([
    '2a01:4f8::7',
    '8.8.4.4',
  ]);
});

test('entered addresses replace the detected ones, also private ones', () => {
  const facts = { ...none, interfaceAddresses: ['8.8.4.4'], enteredAddresses: ['10.0.0.4'] };
  expect(publicAddresses(facts)).toEqual(['10.0.0.4']);
});
