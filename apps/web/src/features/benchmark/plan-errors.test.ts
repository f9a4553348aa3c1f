import { expect, test } from 'vitest';
import { draftOf, planOf } from './plan-draft.ts';
import { combinationErrors, errorsBelow, standingErrors } from './plan-errors.ts';

const { plan } = planOf(draftOf());
const refused = { plan, appId: 'app_1', loadServerIds: [] };

test('an error of the API ends when its value changes', () => {
  const errors = { appId: 'Gone', 'plan.concurrency.0': 'Choose at least 1 client.', 'plan.repeats': 'Too many' };
  expect(standingErrors(errors, refused, { ...refused })).toEqual(errors);
  const next = { ...refused, plan: { ...plan, concurrency: [1] } };
  expect(standingErrors(errors, refused, next)).toEqual({ appId: 'Gone', 'plan.repeats': 'Too many' });
  expect(standingErrors(errors, refused, { ...next, appId: 'app_2' })).toEqual({ 'plan.repeats': 'Too many' });
});

test('a combination that can not be measured is an error of its field, the first of several', () => {
  expect(combinationErrors(plan)).toEqual({});
  const errors = combinationErrors({ ...plan, upstream: 'lab', scenario: 'latency', concurrency: [65] });
  expect(errorsBelow(errors, 'plan')('concurrency')).toBe('Latency probes have at most 64 clients.');
  expect(errorsBelow(errors, 'plan')('protocols')).toBe('Latency probes are measured over HTTP/1.1.');
  const several = { ...plan, upstream: 'lab', scenario: 'deploy', connection: 'fresh', requestsPerSecond: 5 } as const;
  expect(combinationErrors(several)['plan.connection']).toBe('This scenario is measured over reused connections.');
});

test('an error of an item counts for its field', () => {
  expect(errorsBelow({ 'plan.concurrency.1': 'Low' }, 'plan')('concurrency')).toBe('Low');
  expect(errorsBelow({ 'plan.concurrency.1': 'Low' }, 'plan')('connection')).toBeUndefined();
});
