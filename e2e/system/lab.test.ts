// Tests of the benchmark lab: scenarios from the control plane to the real agent and the proxies that it starts.
import type { AppId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HAPROXY, NGINX, requirePrograms } from '../../tools/test/debian.ts';
import { recoveryFaults } from '../lab/recovery.ts';
import { runScenario } from '../lab/run-scenario.ts';
import { labScenarios, liveScenarios, SMALL } from '../lab/scenarios.ts';
import { respondingApp } from './harness/apps.ts';
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
