// Tests of the comparison of two runs.
import { parseId } from '@fairlead/contract/ids';
import { plainPlan } from '@fairlead/core/benchmark/plan';
import { expect, test } from 'vitest';
import type { BenchmarkDetail } from '../../api/types.ts';
import { compareFacts, compareRows } from './comparison.ts';
import type { ResultRow } from './results.ts';
import { plainRow } from './testing.ts';

function cell(part: Partial<ResultRow>, throughputs: readonly number[]): ResultRow[] {
  return throughputs.map((requestsPerSecond, round) => ({
    ...plainRow,
    ...{ id: `row_${round}`, position: round, round, target: 'proxy', protocol: 'http1', networkPath: 'own-network' },
    ...{ concurrency: 8, durationMs: 2000, requests: 100, errors: 0, requestsPerSecond, p50Ms: 1, p90Ms: 1 },
    ...{ p99Ms: 1000 / requestsPerSecond, cpuUsPerRequest: null, proxyMemoryBytes: null, bytesReceived: 0 },
    ...part,
  }));
}

test('a difference beyond the noise is better or worse, by what is wanted', () => {
  const [found] = compareRows(cell({}, [100, 101, 99]), cell({}, [130, 131, 129]));
  expect(found).toMatchObject({
    throughput: { before: 100, after: 130, verdict: 'better' },
    p99: { verdict: 'better' },
  });
  expect(found?.cpu).toBeNull();
  const [slower] = compareRows(cell({}, [130, 131, 129]), cell({}, [100, 101, 99]));
  expect(slower).toMatchObject({ throughput: { verdict: 'worse' }, p99: { verdict: 'worse' } });
});

test('noise and too few rounds name no winner', () => {
  expect(compareRows(cell({}, [95, 130, 110]), cell({}, [100, 140, 90]))[0]?.throughput?.verdict).toBe('none');
  expect(compareRows(cell({}, [100, 100, 100]), cell({}, [200, 200]))[0]?.throughput).toMatchObject({
    ratio: null,
    verdict: 'unknown',
  });
});

test('rows of different network paths, protocols or concurrencies are never compared', () => {
  const before = cell({}, [100, 100, 100]);
  for (const part of [
    { networkPath: 'unix-socket' as const },
    { protocol: 'http2' as const },
    { concurrency: 16 },
    { target: 'direct' as const },
  ])
    expect(compareRows(before, cell(part, [100, 100, 100]))).toEqual([]);
});

test('what else differs is named', () => {
  const facts = {
    release: { id: parseId('rel', 'rel_00000000000000000000000000'), number: 4, commitHash: 'abc' },
    configNumber: 2,
    agentVersion: '0.1.0',
    machine: { os: 'Debian 12', kernel: '6.1', arch: 'x86_64', cpuCount: 2, memoryBytes: 1 },
    endReleaseNumber: 4,
  };
  const plan = { host: 'a.test', path: '/', durationMs: 2000, ...plainPlan } as BenchmarkDetail['plan'];
  const before = { facts, serverName: 'one', plan };
  expect(compareFacts(before, before)).toEqual([]);
  const after = { ...before, facts: { ...facts, release: { ...facts.release, number: 5 } }, serverName: 'two' };
  expect(compareFacts(before, after)).toEqual([
    { term: 'Release', before: '#4', after: '#5' },
    { term: 'Server', before: 'one', after: 'two' },
  ]);
  const burst = { ...before, plan: { ...plan, scenario: 'burst' as const, requestsPerSecond: 100 } };
  expect(compareFacts(before, burst)).toEqual([
    { term: 'Scenario', before: 'matrix', after: 'burst' },
    { term: 'Rate', before: 'closed loop', after: '100 requests/s' },
  ]);
  expect(compareFacts({ ...before, facts: null }, before)[0]).toEqual({
    term: 'Release',
    before: 'Not stored',
    after: '#4',
  });
});
