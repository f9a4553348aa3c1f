import { expect, test } from 'vitest';
import { createHealthCheck } from './health-check.ts';

function stage() {
  const queries: PromiseWithResolvers<void>[] = [];
  const failures: unknown[] = [];
  let at = 0;
  const check = createHealthCheck({
    query: () => {
      const next = Promise.withResolvers<void>();
      queries.push(next);
      return next.promise;
    },
    onFailure: (error) => failures.push(error),
    now: () => at,
  });
  return { queries, failures, check, forward: (ms: number) => (at += ms) };
}

test('a thousand concurrent callers cost one query, and callers within the next second none', async () => {
  const { queries, check, forward } = stage();
  const answers = Array.from({ length: 1000 }, () => check.isHealthy());
  expect(queries).toHaveLength(1);
  queries[0]?.resolve();
  expect(new Set(await Promise.all(answers))).toEqual(new Set([true]));
  forward(999);
  expect(await check.isHealthy()).toBe(true);
  expect(queries).toHaveLength(1);
  forward(1);
  const next = check.isHealthy();
  expect(queries).toHaveLength(2);
  queries[1]?.resolve();
  expect(await next).toBe(true);
});

test('a database that does not respond is reported, and queried again after a second', async () => {
  const { queries, failures, check, forward } = stage();
  const first = check.isHealthy();
  queries[0]?.reject(new Error('away'));
  expect(await first).toBe(false);
  expect(failures).toHaveLength(1);
  expect(await check.isHealthy()).toBe(false);
  forward(1000);
  const second = check.isHealthy();
  queries[1]?.resolve();
  expect(await second).toBe(true);
});
