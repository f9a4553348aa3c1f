// Tests of a gate's rows: what an agent reports is bounded, and the result reads as a sentence.
import { create } from '@bufbuild/protobuf';
import { BenchmarkRowSchema, HistogramSchema, NetworkPath } from '@fairlead/contract/agent';
import { histogramToWire } from '@fairlead/contract/histogram';
import { expect, test } from 'vitest';
import { describeGate, judgeGate, readGateRows } from './gate.ts';
import type { GateThreshold, Threshold } from './schema.ts';

const row = (round: number, us = 31) =>
  create(BenchmarkRowSchema, {
    round,
    concurrency: 8,
    durationMs: 1000,
    requests: 500n,
    networkPath: NetworkPath.OWN_NETWORK,
    latency: histogramToWire({ counts: new Map([[us, 500]]), sumUs: 500 * us }),
  });
const gate = (thresholds: GateThreshold[]) => ({ path: '/', concurrency: 8, durationMs: 1000, rounds: 2, thresholds });
const limits: Threshold[] = [
  { metric: 'p99_ms', max: 20 },
  { metric: 'requests_per_second', min: 1000 },
];

test('rows that can not be are left out, and there are never too many', () => {
  const broken = create(BenchmarkRowSchema, { latency: create(HistogramSchema, { index: [1], count: [] }) });
  const huge = create(BenchmarkRowSchema, { ...row(0), requests: 2n ** 63n });
  expect(readGateRows([broken, huge, row(1)], []).map(({ round }) => round)).toEqual([1]);
  expect(
    readGateRows(
      Array.from({ length: 100 }, (_, round) => row(round)),
      [row(0)],
    ),
  ).toHaveLength(10);
});

test('a verdict needs every round, and a load that ended early has failed', () => {
  const all = readGateRows([row(0), row(1)], []);
  expect(judgeGate(gate([{ metric: 'p99_ms', max: 20 }]), all, false).outcome).toBe('passed');
  expect(judgeGate(gate(limits), all, false).outcome).toBe('failed');
  expect(judgeGate(gate(limits), all.slice(1), false)).toMatchObject({ outcome: 'running', thresholds: [] });
  expect(judgeGate(gate(limits), [], true).outcome).toBe('failed');
});

test('a result shows no query of the path, which may hold a token', () => {
  expect(judgeGate({ ...gate(limits), path: '/health?token=canary' }, [], false).path).toBe('/health?[redacted]');
  expect(judgeGate({ ...gate(limits), path: '/health' }, [], false).path).toBe('/health');
});

test('a verdict reads as a sentence with its figures', () => {
  const all = readGateRows([row(0), row(1)], []);
  expect(describeGate(judgeGate(gate(limits), all, true))).toBe(
    'Benchmark gate failed: p99 0.031 ms (at most 20 ms); throughput 500 requests/s (at least 1000 requests/s, missed).',
  );
  expect(describeGate(judgeGate(gate(limits), all.slice(1), false))).toBe(
    'Benchmark gate running: 1 of 2 rounds measured.',
  );
});

test('a ratio to the live release waits for its rounds, and reads with its interval', () => {
  const limit: GateThreshold[] = [{ metric: 'p99_ms', max: 1.2, relativeTo: 'live' }];
  const three = { ...gate(limit), rounds: 3 };
  const rows = [row(0, 31), row(1, 31), row(2, 31)];
  const live = [row(0, 20), row(1, 20), row(2, 20)];
  for (const measured of [0, 1, 2]) {
    expect(judgeGate(three, readGateRows(rows, live.slice(0, measured)), false).outcome).toBe('running');
  }
  const missed = judgeGate(three, readGateRows(rows, live), true);
  expect(missed).toMatchObject({ outcome: 'failed', liveRows: [{ p99Ms: 0.02 }, {}, {}] });
  expect(describeGate(missed)).toBe(
    'Benchmark gate failed: p99 1.55 × the live release [1.55 to 1.55] (at most 1.2 × the live release, missed).',
  );
  const alone = judgeGate(three, readGateRows(rows, []), true);
  expect(alone).toMatchObject({ outcome: 'passed', liveRows: [], thresholds: [{ passed: true, cells: [] }] });
  expect(describeGate(alone)).toBe(
    'Benchmark gate passed: p99 not compared: no live release (at most 1.2 × the live release).',
  );
});
