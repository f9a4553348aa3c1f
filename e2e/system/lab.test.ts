// Tests of the benchmark lab: scenarios from the control plane to the real agent and the proxies that it starts.
import type { AppId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HAPROXY, IP, NGINX, requirePrograms } from '../../tools/test/debian.ts';
import { recoveryFaults } from '../lab/recovery.ts';
import { runScenario } from '../lab/run-scenario.ts';
import { labScenarios, liveScenarios, SMALL } from '../lab/scenarios.ts';
import { deploySleepyApp } from '../lab/sleepy-app.ts';
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
