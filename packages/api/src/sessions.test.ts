// Sessions with and without a proven factor, and live streams that outlive their access. The tenancy check runs the same.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { memberStream, router, signedInProcedure } from './procedures.ts';
import { apiRouter } from './router.ts';
import { startTestApi, type TestApi } from './testing/index.ts';
import { checkFactors } from './testing/matrix/factors.ts';
import { type Stage, setStage } from './testing/matrix/stage.ts';
import { checkStreams } from './testing/matrix/streams.ts';

let api: TestApi;
let stage: Stage;
beforeAll(async () => {
  api = await startTestApi();
  stage = await setStage(api);
});
afterAll(() => api.close());

// Makes some hundred calls; a busy machine may take many times as long.
const timeout = 600_000;
const nothing = z.object({});

test('a session by password enters no organization that requires two factors, and changes no factor', {
  timeout,
}, async () => {
  const { leaks, calls } = await checkFactors(api, stage, apiRouter);
  expect(leaks).toEqual([]);
  expect(calls).toBeGreaterThan(Object.keys(apiRouter._def.procedures).length);
});

test('a procedure that forgets to ask for the factor, or was never thought about, is found', { timeout }, async () => {
  const forgetful = signedInProcedure.output(nothing).mutation(() => ({}));
  const planted = router({ account: router({ disableTwoFactor: forgetful, newWayIn: forgetful }) });
  const { leaks } = await checkFactors(api, stage, planted);
  expect(leaks).toEqual([
    'account.disableTwoFactor as an owner by password alone answered ok',
    'account.newWayIn does not declare whether it changes how its person signs in',
  ]);
});

test('every stream ends with its access and is bounded', { timeout }, async () => {
  const { leaks, calls } = await checkStreams(api, stage, apiRouter);
  expect(leaks).toEqual([]);
  expect(calls).toBeGreaterThan(20);
});

test('a stream that checks access only once, or is not counted, is found', { timeout }, async () => {
  const careless = memberStream('app.read').subscription(async function* ({
    ctx,
    signal,
  }): AsyncGenerator<object, void> {
    const { organizationId } = ctx.access;
    const left = signal ?? AbortSignal.abort();
    for await (const event of ctx.live.subscribe({ organizationId, topics: [], signal: left })) yield event;
  });
  const { leaks } = await checkStreams(api, stage, router({ careless }), 50);
  for (const what of ['the session', 'the membership', 'the right', 'the proof of a factor']) {
    expect(leaks).toContain(`careless without ${what} answered nothing: it is still open`);
  }
  expect(leaks).toContain('careless beyond the bound answered nothing: it is still open');
});
