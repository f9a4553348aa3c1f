import { expect, test } from 'vitest';
import { formatMoment, parsePeriod, refetchIntervalMs, takesLiveSamples } from './period.ts';
import { neighboursOf } from './ranges.ts';

const read = (query: string) => {
  const params = new URLSearchParams(query);
  return (name: string) => params.get(name) ?? '';
};

test.each([
  ['', '24h'],
  ['range=6h', '6h'],
  ['range=5y', '24h'],
  ['range=7d&from=2026-11-20T10:00:00Z', '7d'],
  ['from=2026-11-20T11:00:00Z&to=2026-11-20T10:00:00Z', '24h'],
  ['from=x&to=y', '24h'],
])('%j is the range %s', (query, range) => {
  expect(parsePeriod(read(query), '24h')).toEqual({ range, span: null, input: { range } });
});

test('two moments are a period of their own, whatever the range says, and survive the URL', () => {
  const span = { from: new Date('2026-11-20T10:00:00Z'), to: new Date('2026-11-20T10:30:00.500Z') };
  const period = parsePeriod(read(`range=1h&from=${formatMoment(span.from)}&to=${formatMoment(span.to)}`), '15m');
  expect(period).toEqual({ range: null, span, input: span });
  expect(takesLiveSamples(period)).toBe(false);
  expect(refetchIntervalMs(period)).toBe(false);
  expect(formatMoment(span.from)).toBe('2026-11-20T10:00:00Z');
});

test('neighbours are the ranges beside one', () => {
  expect(neighboursOf('15m')).toEqual(['1h']);
  expect(neighboursOf('24h')).toEqual(['6h', '7d']);
  expect(neighboursOf('30d')).toEqual(['7d']);
});
