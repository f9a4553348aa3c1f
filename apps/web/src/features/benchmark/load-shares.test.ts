import { expect, test } from 'vitest';
import type { BenchmarkDetail } from '../../api/types.ts';
import { loadSharesOf } from './load-shares.ts';
import type { ResultRow } from './results.ts';
import { plainRow } from './testing.ts';

const server = (name: string, role: 'measure' | 'load') =>
  ({
    serverId: `srv_${name}`,
    name,
    role,
    clockOffsetUs: 0,
    clockUncertaintyUs: 500,
  }) as BenchmarkDetail['servers'][number];
const servers = [server('home', 'measure'), server('east', 'load'), server('west', 'load')];

function part(name: string, fields: object): ResultRow['parts'][number] {
  return {
    ...{ serverId: `srv_${name}`, name, role: 'load', concurrency: 2, clients: 2, requests: 0, errors: 0, unsent: 0 },
    ...{ requestsPerSecond: 0, p50Ms: null, p99Ms: null, generatorCpuUs: 0, generatorSaturated: false },
    startOffsetUs: 0,
    ...fields,
  } as ResultRow['parts'][number];
}

const row = (parts: readonly ResultRow['parts'][number][]) =>
  ({ ...plainRow, durationMs: 1000, parts }) as unknown as ResultRow;

test('each load server has its share, and the server of the app has none', () => {
  const shares = loadSharesOf(servers, [
    row([
      part('home', { role: 'measure', startOffsetUs: -700 }),
      part('east', { requests: 60, p99Ms: 4, generatorCpuUs: 500_000, startOffsetUs: 300 }),
      part('west', { requests: 20, errors: 20, p99Ms: null, generatorCpuUs: 1_900_000, generatorSaturated: true }),
    ]),
    row([
      part('home', { role: 'measure' }),
      part('east', { requests: 60, p99Ms: 6, generatorCpuUs: 700_000, startOffsetUs: -900 }),
      part('west', { requests: 40, p99Ms: 9, generatorCpuUs: 0 }),
    ]),
  ]);
  expect(shares).toMatchObject([
    { name: 'home', load: null, startOffsetUs: 700 },
    {
      name: 'east',
      startOffsetUs: 900,
      load: { rows: 2, requests: 120, errors: 0, share: 0.6, p99Ms: 5, generatorCores: 0.6, saturated: 0 },
    },
    { name: 'west', load: { requests: 60, errors: 20, share: 0.4, p99Ms: 9, generatorCores: 1.9, saturated: 1 } },
  ]);
});

test('before the first row there are no figures', () => {
  expect(loadSharesOf(servers, []).map(({ load, startOffsetUs }) => [load, startOffsetUs])).toEqual([
    [null, null],
    [null, null],
    [null, null],
  ]);
});
