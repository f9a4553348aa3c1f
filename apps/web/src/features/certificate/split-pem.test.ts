import { expect, test } from 'vitest';
import { splitPem } from './split-pem.ts';

const block = (kind: string) => `-----BEGIN ${kind}-----\nAAAA\n-----END ${kind}-----`;

test('dropped text is divided into chain and key, and other blocks are left out', () => {
  const text = [block('EC PARAMETERS'), block('EC PRIVATE KEY'), 'Bag Attributes', block('CERTIFICATE')].join('\n');
  expect(splitPem(`${text}\n${block('CERTIFICATE')}`)).toEqual({
    chainPem: `${block('CERTIFICATE')}\n${block('CERTIFICATE')}`,
    keyPem: block('EC PRIVATE KEY'),
  });
});

test('text without a block gives nothing', () => {
  expect(splitPem('-----BEGIN CERTIFICATE-----')).toEqual({ chainPem: '', keyPem: '' });
});
