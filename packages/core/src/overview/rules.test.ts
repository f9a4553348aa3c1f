import { expect, test } from 'vitest';
import { checklistOf, totalsOf } from './rules.ts';

const none = { requests: null, errors: null };

test('without data there is no total, and no false zero', () => {
  expect(totalsOf({ current: none, before: none }, { current: 0, before: 0, hasEarlier: false })).toEqual({
    requests: { current: null, before: null },
    errorShare: { current: null, before: null },
    deployments: { current: null, before: null },
  });
});

test('a day of samples without requests is a true zero, and has no error rate', () => {
  const quiet = { requests: 0, errors: 0 };
  const totals = totalsOf({ current: quiet, before: none }, { current: 0, before: 3, hasEarlier: true });
  expect(totals.requests).toEqual({ current: 0, before: null });
  expect(totals.errorShare).toEqual({ current: null, before: null });
  expect(totals.deployments).toEqual({ current: 0, before: 3 });
});

test('the first day of deployments has nothing before it', () => {
  const traffic = { current: { requests: 200, errors: 3 }, before: { requests: 100, errors: 0 } };
  const totals = totalsOf(traffic, { current: 2, before: 0, hasEarlier: false });
  expect(totals.errorShare).toEqual({ current: 0.015, before: 0 });
  expect(totals.deployments).toEqual({ current: 2, before: null });
});

test('the checklist has the steps of the reader in order, and is gone when they are done', () => {
  expect(checklistOf({ mail: false, deploy: true, domain: false })).toEqual([
    { step: 'deploy', isDone: true },
    { step: 'domain', isDone: false },
    { step: 'mail', isDone: false },
  ]);
  expect(checklistOf({ deploy: true, invite: true })).toBeNull();
  expect(checklistOf({})).toBeNull();
});
