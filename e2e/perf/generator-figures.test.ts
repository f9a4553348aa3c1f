import { expect, it } from 'vitest';
import {
  compare,
  faults,
  lastLine,
  type Outcome,
  parseCpuSeconds,
  parseH2load,
  parseOha,
  parseWrk,
} from './generator-figures.ts';

const load = (requestsPerSecond: number, cpuUsPerRequest: number) => ({
  requests: 1,
  requestsPerSecond,
  cpuUsPerRequest,
});
const three = (rate: number, cpu: number) => [load(rate, cpu), load(rate, cpu), load(rate, cpu)];
const outcome = (change: Partial<Outcome>): Outcome => ({
  comparisons: [compare(three(100, 5), new Map([['wrk', three(100, 5)]]))],
  delayErrorPercent: 0.4,
  errorsCounted: 7,
  errorsInjected: 7,
  ...change,
});

it('compares with the peer of the highest rate, not of the lowest CPU', () => {
  const compared = compare(
    three(90, 6),
    new Map([
      ['oha', three(50, 1)],
      ['wrk', three(100, 5)],
    ]),
  );
  expect([compared.best, compared.rate.median, compared.cpu.median]).toEqual(['wrk', 0.9, 1.2]);
});

it('prints the worst target', () => {
  const worse = compare(three(96, 4), new Map([['h2load', three(100, 5)]]));
  const both = outcome({ comparisons: [...outcome({}).comparisons, worse] });
  expect(lastLine(both)).toBe(
    'requests/s vs best of wrk, h2load, oha: 0.96; CPU per request vs it: 1.00; delay error: 0.40 %; errors counted 7 of 7',
  );
});

it('fails at each bound', () => {
  expect(faults(outcome({}))).toEqual([]);
  const slow = compare(three(94, 5), new Map([['wrk', three(100, 5)]]));
  expect(faults(outcome({ comparisons: [slow] }))).toEqual(['fewer requests/s than the best']);
  const costly = compare(three(100, 6), new Map([['wrk', three(100, 5)]]));
  expect(faults(outcome({ comparisons: [costly] }))).toEqual(['more CPU per request than the best']);
  expect(faults(outcome({ delayErrorPercent: 2.1 }))).toHaveLength(1);
  expect(faults(outcome({ delayErrorPercent: Number.NaN }))).toHaveLength(1);
  expect(faults(outcome({ errorsCounted: 6 }))).toHaveLength(1);
});

it('reads what other generators print', () => {
  expect(parseWrk('  60 requests in 2.00s, 9.92KB read\nRequests/sec:     29.99\n')).toEqual({
    requests: 60,
    requestsPerSecond: 29.99,
  });
  const h2load =
    'finished in 2.00s, 31.50 req/s, 5KB/s\nrequests: 63 total, 63 started, 63 done, 63 succeeded, 0 failed, 0 errored, 0 timeout\n';
  expect(parseH2load(h2load)).toEqual({ requests: 63, requestsPerSecond: 31.5 });
  const oha = '{"summary":{"requestsPerSec":12.5},"statusCodeDistribution":{"200":25}}';
  expect(parseOha(oha)).toEqual({ requests: 25, requestsPerSecond: 12.5 });
  expect(parseCpuSeconds('1.25 0.50\n')).toBe(1.75);
  expect(() => parseWrk('unable to connect')).toThrow('unable to connect');
});
