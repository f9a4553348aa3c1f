// Tests of thresholds: medians decide, every cell counts, and nothing passes that was not measured.
import { readFileSync } from 'node:fs';
import { encodeHistogram } from '@fairlead/contract/histogram';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { toRowView } from './rules.ts';
import { gateThresholdSchema, type Threshold, thresholdMetrics, thresholdSchema, thresholdsMax } from './schema.ts';
import { evaluateGate, evaluateThresholds, outcomeOf, type ThresholdRow } from './thresholds.ts';

const fixtureRowsSchema = z.array(
  z.object({
    durationMs: z.number(),
    requests: z.number(),
    errors: z.number(),
    latency: z.array(z.tuple([z.number(), z.number()])),
  }),
);
const fixtureSchema = z.array(
  z.object({
    name: z.string(),
    metric: z.enum(thresholdMetrics),
    max: z.number().optional(),
    min: z.number().optional(),
    rows: fixtureRowsSchema,
    /** Rows of the live release, for a threshold that is relative to it. */
    live: fixtureRowsSchema.optional(),
    interval: z.tuple([z.number(), z.number()]).optional(),
    value: z.number().nullable(),
    passed: z.boolean(),
  }),
);

const row = (changes: Partial<ThresholdRow> = {}): ThresholdRow => ({
  target: 'proxy',
  protocol: 'http1',
  networkPath: 'own-network',
  concurrency: 8,
  phase: null,
  probe: null,
  round: 0,
  requests: 1000,
  errors: 0,
  requestsPerSecond: 500,
  p50Ms: 1,
  p90Ms: 2,
  p99Ms: 10,
  cpuUsPerRequest: 40,
  proxyMemoryBytes: 20_000_000,
  ...changes,
});
const rounds = (p99Ms: readonly (number | null)[], changes: Partial<ThresholdRow> = {}) =>
  p99Ms.map((value, round) => row({ ...changes, round, p99Ms: value }));
const evaluate = (threshold: Threshold, rows: readonly ThresholdRow[]) => {
  const [result] = evaluateThresholds([threshold], rows);
  if (result === undefined) throw new Error('no result');
  return result;
};

test('the median over the rounds decides', () => {
  const rows = rounds([9, 10, 300]);
  expect(evaluate({ metric: 'p99_ms', max: 10 }, rows)).toMatchObject({ passed: true, cells: [{ value: 10 }] });
  expect(evaluate({ metric: 'p99_ms', max: 9.99 }, rows).passed).toBe(false);
});

test('a limit inside the interval is uncertain, on either side', () => {
  const rows = rounds([8, 10, 12]);
  expect(evaluate({ metric: 'p99_ms', max: 11 }, rows)).toMatchObject({ passed: true, certain: false });
  expect(evaluate({ metric: 'p99_ms', max: 9 }, rows)).toMatchObject({ passed: false, certain: false });
  expect(evaluate({ metric: 'p99_ms', max: 12 }, rows)).toMatchObject({ passed: true, certain: true });
  expect(evaluate({ metric: 'p99_ms', max: 7 }, rows)).toMatchObject({ passed: false, certain: true });
  expect(evaluate({ metric: 'p99_ms', min: 8 }, rows)).toMatchObject({ passed: true, certain: true });
  expect(evaluate({ metric: 'p99_ms', min: 9 }, rows)).toMatchObject({ passed: true, certain: false });
});

test('fewer than three rounds are never certain', () => {
  expect(evaluate({ metric: 'p99_ms', max: 100 }, rounds([1, 2]))).toMatchObject({
    passed: true,
    certain: false,
    cells: [{ interval: null }],
  });
});

test('every cell that fits must pass', () => {
  const rows = [...rounds([5, 5, 5], { concurrency: 1 }), ...rounds([50, 50, 50], { concurrency: 64 })];
  expect(evaluate({ metric: 'p99_ms', max: 10 }, rows).passed).toBe(false);
  expect(evaluate({ metric: 'p99_ms', max: 10, concurrency: 1 }, rows).passed).toBe(true);
  expect(evaluate({ metric: 'p99_ms', max: 10, concurrency: 64 }, rows).passed).toBe(false);
});

test('a threshold that fits no row fails, and so does the run', () => {
  const rows = rounds([5, 5, 5]);
  for (const filter of [{ target: 'direct' }, { protocol: 'http3' }, { concurrency: 9 }] as const) {
    const result = evaluate({ metric: 'p99_ms', max: 1000, ...filter }, rows);
    expect(result).toMatchObject({ passed: false, certain: true, cells: [] });
    expect(outcomeOf('succeeded', [result])).toBe('failed');
  }
  expect(evaluate({ metric: 'p99_ms', max: 1000 }, []).passed).toBe(false);
});

test('rows that never have the metric do not count, unless no row has it', () => {
  const direct = row({ target: 'direct', cpuUsPerRequest: null, proxyMemoryBytes: null });
  const both = evaluate({ metric: 'cpu_us_per_request', max: 50 }, [row(), direct]);
  expect(both).toMatchObject({ passed: true, cells: [{ target: 'proxy', value: 40 }] });
  expect(evaluate({ metric: 'cpu_us_per_request', max: 50 }, [direct]).passed).toBe(false);
});

test('probes are cells of their own', () => {
  const rows = [row({ probe: 'json', p99Ms: 1 }), row({ probe: 'sse', p99Ms: 30 })];
  expect(evaluate({ metric: 'p99_ms', max: 20 }, rows)).toMatchObject({
    passed: false,
    cells: [
      { value: 1, passed: true },
      { value: 30, passed: false },
    ],
  });
});

test('a round without a successful request fails its cell', () => {
  const dead = { requests: 0, errors: 50, requestsPerSecond: 0, cpuUsPerRequest: null };
  const rows = [row(), row({ round: 1, ...dead, p99Ms: null })];
  expect(evaluate({ metric: 'p99_ms', max: 100 }, rows)).toMatchObject({ passed: false, cells: [{ value: null }] });
  const allDead = [row({ concurrency: 1 }), row({ ...dead, p99Ms: null })];
  expect(evaluate({ metric: 'cpu_us_per_request', max: 100 }, allDead).passed).toBe(false);
  expect(evaluate({ metric: 'success_percent', min: 1 }, allDead).passed).toBe(false);
});

test('each metric reads its value of the row', () => {
  const rows = [row({ requests: 90, errors: 10 })];
  const values = { requests_per_second: 500, p50_ms: 1, p90_ms: 2, p99_ms: 10, success_percent: 90 } as const;
  for (const [metric, value] of Object.entries({ ...values, cpu_us_per_request: 40, memory_bytes: 20_000_000 })) {
    const threshold = thresholdSchema.parse({ metric, max: value });
    expect(evaluate(threshold, rows), metric).toMatchObject({ passed: true, cells: [{ value }] });
  }
});

test('only a run that succeeded has an outcome', () => {
  const results = evaluateThresholds([{ metric: 'p99_ms', max: 100 }], [row()]);
  expect(outcomeOf('succeeded', results)).toBe('passed');
  expect(outcomeOf('succeeded', [])).toBe('none');
  for (const state of ['queued', 'running', 'failed', 'cancelled'] as const) {
    expect(outcomeOf(state, results)).toBe('none');
  }
});

test('a threshold that says nothing, or can not pass, is refused', () => {
  const accepts = (threshold: object) => thresholdSchema.safeParse({ metric: 'p99_ms', ...threshold }).success;
  expect(accepts({ max: 20 })).toBe(true);
  expect(accepts({ min: 0 })).toBe(true);
  expect(accepts({ metric: 'success_percent', min: 99.9, target: 'proxy', protocol: 'http2', concurrency: 32 })).toBe(
    true,
  );
  for (const threshold of [
    {},
    { max: 20, min: 10 },
    { max: 0 },
    { max: -1 },
    { max: Infinity },
    { metric: 'success_percent', min: 101 },
    { metric: 'joy', max: 1 },
    { max: 20, concurrency: 0 },
  ])
    expect(accepts(threshold), JSON.stringify(threshold)).toBe(false);
  expect(thresholdsMax).toBe(20);
});

test('the contract’s cases have the same verdict as in the agent, which decides by itself', () => {
  const file = new URL('../../../contract/fixtures/thresholds.json', import.meta.url);
  const cases = fixtureSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const toViews = (rows: z.infer<typeof fixtureRowsSchema>) =>
    rows.map(({ latency, requests, errors, durationMs }, round) =>
      toRowView({
        ...{ id: 'row_1', position: round, round, target: 'direct', protocol: 'http1', networkPath: 'own-network' },
        ...{ concurrency: 8, durationMs, requests: BigInt(requests), errors: BigInt(errors) },
        latency: encodeHistogram({ counts: new Map(latency), sumUs: 0 }),
        ...{ proxyCpuUs: 0n, proxyMemoryBytes: 0n, bytesReceived: 0n, phase: null, failures: {}, generatorCpuUs: 0n },
        ...{ isSaturated: false, appCpuUs: 0n, clients: 8, latencyMaxUs: 0n, unsent: 0n, noise: null, probe: null },
        ...{ link: null, appConnections: 0, parts: [] },
      }),
    );
  for (const { name, metric, max, min, rows, live, interval, value, passed } of cases) {
    const threshold = gateThresholdSchema.parse({ metric, max, min, ...(live ? { relativeTo: 'live' } : {}) });
    const [result] = evaluateGate([threshold], toViews(rows), toViews(live ?? []));
    expect([result?.cells[0]?.value ?? null, result?.passed], name).toEqual([value, passed]);
    if (interval === undefined) continue;
    expect(result?.cells[0]?.interval, name).toEqual({ low: interval[0], high: interval[1] });
  }
});
