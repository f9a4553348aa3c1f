// Tests of the benchmark lab: scenarios from the control plane to the real agent and the proxies that it starts.
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AppId } from '@fairlead/contract/ids';
import {
  benchmarkPlanSchema,
  benchmarkProbeSchema,
  importBenchmarkInputSchema,
  readBenchmarkDocument,
} from '@fairlead/core/benchmark';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../tools/lib/command.ts';
import { HAPROXY, IP, NGINX, requirePrograms } from '../../tools/test/debian.ts';
import { recoveryFaults } from '../lab/recovery.ts';
import { runPlan, runScenario } from '../lab/run-scenario.ts';
import { labScenarios, liveScenarios, SMALL } from '../lab/scenarios.ts';
import { deploySleepyApp } from '../lab/sleepy-app.ts';
import { COUNTING_APP } from './harness/apps.ts';
import { AGENT_BINARY } from './harness/assemble.ts';
import { System } from './harness/system.ts';

/** A busy machine may add any latency. */
const bounds = { delayAddedMaxMs: Number.POSITIVE_INFINITY };
let system: System;
let appId: AppId;
beforeAll(async () => {
  expect(await requirePrograms([NGINX, HAPROXY, IP])).toBeUndefined();
  system = await System.start();
  appId = await deploySleepyApp(system);
});
afterAll(() => system?.stop());

test.each([...labScenarios(SMALL), ...liveScenarios(SMALL)])(
  '$name has all its rows and no failed request',
  async (scenario) => {
    const { faults, run } = await runScenario(system, appId, scenario, bounds);
    expect(faults).toEqual([]);
    expect(run.programs.filter(({ skipped }) => skipped === null).every(({ version }) => /\d/.test(version))).toBe(
      true,
    );
  },
);

test('an injected delay and injected errors are found again', async () => {
  expect(await recoveryFaults(system, appId, bounds)).toEqual([]);
});

test('an app gets the requests of a plan by their weights, whole, through the proxy and directly', async () => {
  await system.createApp('counting', await system.repositories.create('counting', COUNTING_APP));
  const counting = await system.app('counting');
  const headers = { 'X-Kind': 'own' };
  const plan = benchmarkPlanSchema.parse({
    targets: ['proxy', 'direct'],
    protocols: ['http1', 'http2'],
    ...{ concurrency: [4], repeats: 1, durationMs: 1000, warmupMs: 200, requestsPerSecond: 100 },
    load: {
      requests: [
        { path: '/list', headers, weight: 3 },
        { method: 'POST', path: '/orders?new=1', headers, body: '{"count":1}' },
        { method: 'DELETE', path: '/orders/7', headers },
      ],
      stages: [
        { durationMs: 500, requestsPerSecond: 200 },
        { durationMs: 500, requestsPerSecond: 100 },
      ],
    },
  });
  const run = await runPlan(system, counting.id, plan);
  expect(run).toMatchObject({ state: 'succeeded', failureMessage: null });
  expect(run.rows.map(({ protocol, target, phase, errors }) => [protocol, target, phase, errors])).toEqual([
    ...['stage-1', 'stage-2'].map((phase) => ['http1', 'proxy', phase, 0]),
    ...['stage-1', 'stage-2'].map((phase) => ['http1', 'direct', phase, 0]),
    ...['stage-1', 'stage-2'].map((phase) => ['http2', 'proxy', phase, 0]),
  ]);
  const { body } = await system.get('counting', '/counts');
  const counts = Object.entries(JSON.parse(body) as Record<string, number>).filter(([key]) => key.includes(' own '));
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  expect(total).toBeGreaterThanOrEqual(run.rows.reduce((sum, { requests }) => sum + requests, 0));
  const shares = { 'GET /list own 0': 0.6, 'POST /orders?new=1 own 11': 0.2, 'DELETE /orders/7 own 0': 0.2 };
  expect(counts.map(([key]) => key).toSorted()).toEqual(Object.keys(shares).toSorted());
  for (const [key, count] of counts) {
    // Each of six rows may end within a sequence of five requests.
    expect(Math.abs(count - total * (shares[key as keyof typeof shares] ?? 0)), key).toBeLessThanOrEqual(6 * 5);
  }
});

test('a plan document runs without a control plane, its thresholds set the exit code, and its rows can be imported', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const [file, output] = [join(folder, 'fairlead.bench.json'), join(folder, 'run.json')];
  const bench = async (thresholds: readonly object[], upstream = 'lab') => {
    const load = { targets: ['proxy', 'direct'], protocols: ['http1'], concurrency: [4], repeats: 1, durationMs: 500 };
    const plan = { ...load, upstream, warmupMs: 0, thresholds };
    writeFileSync(file, JSON.stringify({ format: 'fairlead-plan-1', name: 'Smoke', plan }));
    return await run(AGENT_BINARY, ['bench', file, '--output', output]);
  };
  try {
    expect(await bench([{ metric: 'success_percent', min: 100 }])).toMatchObject({ code: 0 });
    const document: unknown = JSON.parse(readFileSync(output, 'utf8'));
    expect(readBenchmarkDocument(document)).toMatchObject({
      ...{ title: 'Smoke', state: 'succeeded', outcome: 'passed', plan: { upstream: 'lab' } },
      rows: [{ target: 'proxy' }, { target: 'direct' }],
    });
    expect(importBenchmarkInputSchema.parse({ appId, document })).toMatchObject({
      document: { facts: { release: null, machine: { arch: expect.any(String) } } },
    });
    expect(await bench([{ metric: 'requests_per_second', min: 1e9 }])).toMatchObject({ code: 3 });
    const live = await bench([], 'live');
    expect(live.code).toBe(1);
    expect(live.output).toContain('Name its address with --proxy');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a terminal runs the probes, loads and links of the lab, and its documents can be imported', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const [file, output] = [join(folder, 'fairlead.bench.json'), join(folder, 'run.json')];
  const base = { upstream: 'lab', targets: ['proxy'], protocols: ['http1'], concurrency: [2], repeats: 1, warmupMs: 0 };
  const bench = async (plan: object) => {
    const document = { format: 'fairlead-plan-1', name: 'Smoke', plan: { ...base, durationMs: 500, ...plan } };
    writeFileSync(file, JSON.stringify(document));
    const { code, output: printed } = await run(AGENT_BINARY, ['bench', file, '--output', output]);
    return { code, printed };
  };
  const read = () => {
    const document: unknown = JSON.parse(readFileSync(output, 'utf8'));
    importBenchmarkInputSchema.parse({ appId, document });
    return readBenchmarkDocument(document);
  };
  try {
    expect(await bench({ scenario: 'latency' })).toMatchObject({ code: 0 });
    expect(read().rows.map(({ probe, errors }) => [probe, errors])).toEqual(
      benchmarkProbeSchema.options.map((probe) => [probe, 0]),
    );
    expect(await bench({ scenario: 'packet-loss', link: { lossPercent: 2.5, delayMs: 3 } })).toMatchObject({ code: 0 });
    expect(read().rows).toMatchObject([
      { phase: 'before', link: { lossPercent: 0, delayMs: 0 } },
      { phase: 'during', link: { lossPercent: 2.5, delayMs: 3 } },
      { phase: 'after', link: { lossPercent: 0, delayMs: 0 } },
    ]);
    const requests = [{ method: 'POST', path: '/', headers: { 'x-kind': 'own' }, body: 'x', weight: 3 }, { path: '/' }];
    const stages = [50, 100].map((requestsPerSecond) => ({ durationMs: 500, requestsPerSecond }));
    expect(await bench({ requestsPerSecond: 50, load: { requests, stages } })).toMatchObject({ code: 0 });
    expect(read()).toMatchObject({
      method: [expect.stringContaining('GET 25 %, POST 75 %'), expect.stringContaining('100 after 0.5 s')],
      plan: {
        load: { requests: [{ headers: { 'x-kind': '[redacted]' }, body: '[redacted: 1 bytes]' }, { body: '' }] },
      },
      rows: [
        { phase: 'stage-1', noise: { machineCpuUs: expect.any(Number) } },
        { phase: 'stage-2', appConnections: expect.any(Number) },
      ],
    });
    const wake = await bench({ upstream: 'live', scenario: 'wake' });
    expect(wake.code).toBe(1);
    expect(wake.printed).toContain('This scenario needs a control plane');
    const copy = await bench({ labApp: { server: 'release' } });
    expect(copy.code).toBe(1);
    expect(copy.printed).toContain('A copy of the live release needs a control plane');
  } finally {
    await rm(folder, { recursive: true });
  }
});
