// Tests of the benchmark lab: scenarios from the control plane to the real agent and the proxies that it starts.
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AppId } from '@fairlead/contract/ids';
import { importBenchmarkInputSchema, readBenchmarkDocument } from '@fairlead/core/benchmark';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../tools/lib/command.ts';
import { HAPROXY, NGINX, requirePrograms } from '../../tools/test/debian.ts';
import { recoveryFaults } from '../lab/recovery.ts';
import { runScenario } from '../lab/run-scenario.ts';
import { labScenarios, liveScenarios, SMALL } from '../lab/scenarios.ts';
import { respondingApp } from './harness/apps.ts';
import { AGENT_BINARY } from './harness/assemble.ts';
import { System } from './harness/system.ts';

let system: System;
let appId: AppId;
beforeAll(async () => {
  expect(await requirePrograms([NGINX, HAPROXY])).toBeUndefined();
  system = await System.start();
  const deployment = await system.createApp('lab', await system.repositories.create('lab', respondingApp('hello')));
  expect(deployment).toMatchObject({ state: 'live' });
  ({ id: appId } = await system.app('lab'));
});
afterAll(() => system?.stop());

test.each([...labScenarios(SMALL), ...liveScenarios(SMALL)])(
  '$name has all its rows and no failed request',
  async (scenario) => {
    const { faults, run } = await runScenario(system, appId, scenario);
    expect(faults).toEqual([]);
    expect(run.programs.filter(({ skipped }) => skipped === null).every(({ version }) => /\d/.test(version))).toBe(
      true,
    );
  },
);

test('an injected delay and injected errors are found again', async () => {
  expect(await recoveryFaults(system, appId, { delayAddedMaxMs: Number.POSITIVE_INFINITY })).toEqual([]);
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
