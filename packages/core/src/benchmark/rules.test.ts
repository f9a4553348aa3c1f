import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { rowsOf, timeLimitMs } from './plan.ts';
import { benchmarkPlanSchema, createBenchmarkInputSchema } from './schema.ts';

const plan = (changes: object) => benchmarkPlanSchema.parse({ concurrency: [1, 8], repeats: 3, ...changes });
const accepts = (changes: object): boolean =>
  createBenchmarkInputSchema.safeParse({ appId: newId('app'), plan: changes }).success;

test('rows are counted as the agent makes them: HTTP/2 and HTTP/3 go through the proxy only', () => {
  expect(rowsOf(plan({}))).toBe(3 * 2 * 3);
  expect(rowsOf(plan({ protocols: ['http1'] }))).toBe(2 * 2 * 3);
  expect(rowsOf(plan({ targets: ['proxy'], protocols: ['http2'] }))).toBe(2 * 3);
  expect(rowsOf(plan({ protocols: ['http1', 'http3'] }))).toBe(2 * 3 * 3);
});

test('a plan that measures nothing, or never ends, is refused', () => {
  expect(accepts({})).toBe(true);
  for (const changes of [
    { targets: ['direct'], protocols: ['http2'] },
    { targets: [] },
    { concurrency: [8, 8] },
    { concurrency: [0] },
    { concurrency: [100_000] },
    { repeats: 100 },
    { durationMs: 10 * 60_000 },
    { path: 'no-slash' },
    { path: '/a b' },
    { path: '/a\r\nx: y' },
  ])
    expect(accepts(changes), JSON.stringify(changes)).toBe(false);
});

test('a run has time for every row, and some more', () => {
  const each = plan({ durationMs: 2000, warmupMs: 500 });
  expect(timeLimitMs(each)).toBeGreaterThan(rowsOf(each) * 2500);
});
