import { expect, test } from 'vitest';
import { emptyRequest, emptyStage, loadOf, requestDraftOf, requestFaults, stageDraftOf } from './load-draft.ts';
import { draftOf, planOf } from './plan-draft.ts';

test('a load is the same after it was a draft', () => {
  const load = {
    requests: [
      { method: 'GET' as const, path: '/', headers: {}, body: '', weight: 3 },
      { method: 'POST' as const, path: '/a?b=1', headers: { Accept: 'a:b', 'X-Kind': '' }, body: '{\n}', weight: 1 },
    ],
    thinkTimeMs: 20,
    stages: [{ durationMs: 2500, requestsPerSecond: 30 }],
  };
  expect(loadOf(load.requests.map(requestDraftOf), '20', load.stages.map(stageDraftOf), '2')).toEqual({
    ...load,
    workers: 2,
  });
  expect(planOf({ ...draftOf(), path: '/old', load, hasRequests: true }).plan).toMatchObject({ path: '/', load });
});

test('a field without a valid value makes the load incomplete', () => {
  expect(loadOf([emptyRequest], '', [emptyStage], '')).not.toBeNull();
  for (const change of [
    { path: 'x' },
    { path: '/a b' },
    { weight: '0' },
    { weight: '1001' },
    { headers: 'no colon' },
  ]) {
    expect(loadOf([{ ...emptyRequest, ...change }], '', [], ''), JSON.stringify(change)).toBeNull();
  }
  expect(requestFaults({ ...emptyRequest, headers: 'Cookie: a' }).headers).toContain('credentials');
  expect(loadOf([], '-1', [], '')).toBeNull();
  expect(loadOf([], '', [{ ...emptyStage, seconds: '' }], '')).toBeNull();
  expect(loadOf([], '', [{ ...emptyStage, rate: '1.5' }], '')).toBeNull();
  for (const workers of ['0', '65', 'all']) expect(loadOf([], '', [], workers), workers).toBeNull();
  expect(planOf({ ...draftOf(), load: null }).isComplete).toBe(false);
});
