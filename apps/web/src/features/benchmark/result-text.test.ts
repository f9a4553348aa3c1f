import { formatsOf } from '@fairlead/ui/formats';
import { expect, test } from 'vitest';
import { noiseText, resultText, shareOfRows } from './result-text.ts';
import { type ResultRow, summariseRows } from './results.ts';
import { plainRow } from './testing.ts';

const formats = formatsOf({ locale: 'en-US', timeZone: 'UTC' });
const row = (target: ResultRow['target'], round: number) =>
  ({
    ...plainRow,
    ...{ id: `${target}${round}`, protocol: 'http1', target, concurrency: 2, round, networkPath: 'own-network' },
    ...{ requests: 100, errors: 0, durationMs: 1000, requestsPerSecond: 100, p50Ms: 1, p90Ms: 1, p99Ms: 1 },
    ...{ cpuUsPerRequest: 1, proxyMemoryBytes: 1 },
  }) as unknown as ResultRow;
const textOf = (rows: readonly ResultRow[]) => resultText(rows, summariseRows(rows), formats);

test('the caption names medians, intervals and the ratio only if the rows have them', () => {
  expect(textOf([row('proxy', 0)])).toBe('Figures of one round. Network path: Own network.');
  expect(textOf([row('proxy', 0), row('direct', 0)])).toBe(
    'Figures of one round. Ratio: requests/s divided by those of direct rows by the same network path, over HTTP/1.1 if the protocol has none. Network path: Own network.',
  );
  expect(textOf([0, 1].map((round) => row('proxy', round)))).toContain('Medians over 2 rounds. ');
  expect(textOf([0, 1, 2].map((round) => row('proxy', round)))).toContain(
    'Medians over 3 rounds, with 95 % intervals.',
  );
});

test('the warning of a busy machine names only causes above their limit', () => {
  const noise = (other: number, steal: number) => ({
    noise: { otherCpuUs: other, stealUs: steal, machineCpuUs: 1000 } as ResultRow['noise'],
  });
  expect(noiseText([noise(50, 20)], formats)).toBeNull();
  expect(noiseText([noise(661, 2)], formats)).toBe(
    'The machine was busy in the only row: other processes took up to 66.1 % of its CPU. Run the benchmark again when the server is idle.',
  );
  expect(noiseText([noise(0, 50), noise(0, 0)], formats)).toBe(
    'The machine was busy in 1 of 2 rows: the hypervisor took up to 5 % of its CPU. Run the benchmark again when the server is idle.',
  );
});

test('rows are counted without 1 of 1', () => {
  expect([shareOfRows(1, 1), shareOfRows(3, 3), shareOfRows(1, 3)]).toEqual([
    'the only row',
    'all 3 rows',
    '1 of 3 rows',
  ]);
});
