import { benchmarkPlanSchema, storedPlanSchema } from '@fairlead/core/benchmark/schema';
import { expect, test } from 'vitest';
import type { SavedPlan } from '../../api/types.ts';
import { type RepeatedRun, repeatInput } from './repeat-run.ts';

const plan = benchmarkPlanSchema.parse({ concurrency: [2] });
const run = {
  ...{ appId: 'app_1', environmentId: 'env_1', planName: 'Nightly', servers: [] },
  plan: storedPlanSchema.parse({ ...plan, host: 'hello.localhost' }),
} as unknown as RepeatedRun;
const saved = {
  ...{ id: 'bpl_1', appId: 'app_1', environmentId: 'env_1', name: 'Nightly', plan, loadServers: [] },
} as unknown as SavedPlan;
const inputWith = (changes: Partial<SavedPlan>) => repeatInput(run, [{ ...saved, ...changes }]);

test('a repeat of an unchanged saved plan is a run of that plan', () => {
  expect(inputWith({})).toEqual({ appId: 'app_1', environmentId: 'env_1', planId: 'bpl_1', plan });
});

test('a repeat of a changed, renamed or deleted plan has the load of the run and no plan', () => {
  const alone = { appId: 'app_1', environmentId: 'env_1', plan: run.plan };
  expect(repeatInput(run, [])).toEqual(alone);
  expect(inputWith({ plan: { ...plan, concurrency: [4] } })).toEqual(alone);
  expect(inputWith({ plan: { ...plan, host: 'other.localhost' } })).toEqual(alone);
  expect(inputWith({ name: 'Weekly' })).toEqual(alone);
  expect(inputWith({ environmentId: 'env_2' } as unknown as SavedPlan)).toEqual(alone);
  expect(inputWith({ loadServers: [{ serverId: 'srv_1', name: null }] } as unknown as SavedPlan)).toEqual(alone);
});
