import { expect, test } from 'vitest';
import { copiesRelease, describeLoad, headerFault, isRedacted, mayChangeData, redactPlan } from './load.ts';
import { planFaults } from './plan.ts';
import { benchmarkPlanSchema } from './schema.ts';

const plan = (requests: object[], changes: object = {}) =>
  benchmarkPlanSchema.parse({ load: { requests, ...changes }, requestsPerSecond: 100 });

test('methods beyond reading, and headers that an app may take for one, may change data', () => {
  expect(mayChangeData(plan([]))).toBe(false);
  expect(mayChangeData(plan([{ path: '/a' }, { method: 'HEAD', path: '/', headers: { Accept: '*/*' } }]))).toBe(false);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    expect(mayChangeData(plan([{ path: '/a' }, { method, path: '/a' }]))).toBe(true);
  }
  const override = plan([{ path: '/', headers: { 'X-HTTP-Method-Override': 'DELETE' } }]);
  expect(mayChangeData(override)).toBe(true);
  expect(mayChangeData({ ...override, upstream: 'lab' })).toBe(false);
  const labApp = { ...override.labApp, server: 'release' as const };
  expect(mayChangeData({ ...override, upstream: 'lab', labApp })).toBe(true);
  expect([copiesRelease({ upstream: 'lab', labApp }), copiesRelease({ upstream: 'live', labApp })]).toEqual([
    true,
    false,
  ]);
  const call = benchmarkPlanSchema.parse({ protocols: ['grpc'], path: '/shop.Cart/Get' });
  expect(mayChangeData(call)).toBe(true);
  expect(mayChangeData({ ...call, upstream: 'lab' })).toBe(false);
});

test('headers of the generator and credentials are refused, whatever their case', () => {
  for (const name of ['HOST', 'content-length', 'Transfer-Encoding', 'TE', 'Upgrade', 'a b', '', 'é']) {
    expect(headerFault(name, 'x'), name).not.toBeNull();
  }
  for (const name of [
    'authorization',
    'COOKIE',
    'X-Api-Key',
    'X-CSRF-Token',
    'Proxy-Authorization',
    'api_key',
    'X-Amz-Signature',
  ]) {
    expect(headerFault(name, 'x'), name).toContain('credentials');
  }
  expect(headerFault('X-Kind', 'a\r\nb')).not.toBeNull();
  expect(headerFault('Content-Type', 'application/json')).toBeNull();
});

test('a redacted plan keeps names and sizes, and redacting it again changes nothing', () => {
  const full = plan([{ method: 'POST', path: '/orders', headers: { 'X-Kind': 'canary' }, body: 'canary ü' }]);
  const redacted = redactPlan(full);
  expect(redacted.load.requests).toEqual([
    { method: 'POST', path: '/orders', headers: { 'X-Kind': '[redacted]' }, body: '[redacted: 9 bytes]', weight: 1 },
  ]);
  expect(redactPlan(redacted)).toEqual(redacted);
  expect([isRedacted(full), isRedacted(redacted)]).toEqual([false, true]);
  expect(planFaults(full)).toEqual([]);
  expect(planFaults(redacted)).toMatchObject([{ field: 'load' }]);
});

test('a redacted plan has no queries, and its paths are as long as a path may be', () => {
  const full = plan([{ path: '/search?q=canary&page=2' }, { path: `/${'a'.repeat(497)}?b` }, { path: '/plain' }]);
  const redacted = redactPlan(full);
  expect(redacted.load.requests.map(({ path }) => path)).toEqual([
    '/search?[redacted]',
    `/${'a'.repeat(488)}?[redacted]`,
    '/plain',
  ]);
  expect(redactPlan(redacted)).toEqual(redacted);
  expect([isRedacted(full), isRedacted(redacted)]).toEqual([false, true]);
  expect(planFaults(redacted)).toMatchObject([{ message: expect.stringContaining('no queries') }]);
});

test('the path of a plan loses its query as those of its requests do', () => {
  const full = { ...plan([]), path: '/search?token=canary' };
  const redacted = redactPlan(full);
  expect(redacted.path).toBe('/search?[redacted]');
  expect(redactPlan(redacted)).toEqual(redacted);
  expect([isRedacted(full), isRedacted(redacted)]).toEqual([false, true]);
  expect(planFaults(full)).toEqual([]);
  expect(planFaults(redacted)).toMatchObject([{ message: expect.stringContaining('no queries') }]);
  expect(redactPlan({ ...full, path: '/plain' }).path).toBe('/plain');
});

test('a path loses its fragment, with or without a query', () => {
  for (const path of ['/a#canary', '/a#canary?b', '/a?b#canary', '/a#']) {
    const redacted = redactPlan({ ...plan([]), path });
    expect(redacted.path, path).toBe('/a?[redacted]');
    expect(isRedacted(redacted), path).toBe(true);
  }
});

test('the description has the share of each method, and nothing of paths, headers and bodies', () => {
  const mixed = plan(
    [
      { path: '/canary', weight: 2 },
      { path: '/canary?page=2', weight: 4 },
      { method: 'POST', path: '/canary', headers: { 'X-Canary': 'canary' }, body: 'canary', weight: 3 },
    ],
    { stages: [{ durationMs: 10_000, requestsPerSecond: 300 }] },
  );
  const text = describeLoad(mixed).join(' ');
  expect(text).toContain('Methods of the load: GET 66.7 %, POST 33.3 %.');
  expect(text).toContain('The rate begins at 100 requests per second and changes evenly: 300 after 10 s.');
  expect(text.toLowerCase()).not.toContain('canary');
  expect(describeLoad(plan([]))).toEqual([]);
});
