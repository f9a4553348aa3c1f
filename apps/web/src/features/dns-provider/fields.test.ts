import { createDnsProviderInputSchema } from '@fairlead/core/dns-provider/schema';
import { expect, test } from 'vitest';
import { credentialsOf, KINDS, PROVIDERS, summaryOf, zonesOf } from './fields.ts';

test('the form of every provider has the fields that the API wants', () => {
  for (const kind of KINDS) {
    const values = Object.fromEntries(
      PROVIDERS[kind].fields.map(({ name, options }) => [name, options?.[0] ?? 'value']),
    );
    const input = { zones: ['example.com'], credentials: credentialsOf(kind, values) };
    expect(createDnsProviderInputSchema.safeParse(input).error, kind).toBeUndefined();
  }
});

test('zones are separated by spaces, commas or lines, and a summary has no secret', () => {
  expect(zonesOf(' example.com, example.org\nexample.net ')).toEqual(['example.com', 'example.org', 'example.net']);
  const settings = { accessKeyId: 'AKIA1', server: 'ns1.example.com', keyName: '', algorithm: 'hmac-sha256' } as const;
  expect(summaryOf({ kind: 'route53', settings })).toBe('Route 53 · AKIA1');
  expect(summaryOf({ kind: 'rfc2136', settings })).toBe('Own name server (RFC 2136) · ns1.example.com');
});
