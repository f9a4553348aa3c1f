// Tests of some apps in examples/ through the whole product: pushed by git, detected, built and run by a real agent,
// and reached through the proxy. `npm run check:examples` deploys all of them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SHORT_EXAMPLES } from '../real-apps/list/examples.ts';
import { System } from './harness/system.ts';

let system: System;
beforeAll(async () => {
  system = await System.start();
});
afterAll(() => system?.stop());

test.each(SHORT_EXAMPLES)('$example is found out, goes live and answers', { timeout: 480_000 }, async (example) => {
  const { example: name, runtime, first, healthPath } = example;
  const repository = await system.repositories.createExample(name, name);
  const { id, appId, state, failureMessage } = await system.createApp(name, repository, healthPath);
  const why = state === 'live' ? [] : await system.log(id);
  expect([state, failureMessage, why]).toEqual(['live', null, []]);
  const { status, body } = await system.get(name);
  expect([status, body.includes(first.contains ?? '')]).toEqual([200, true]);
  const { items } = await system.product.verbs.listReleases({ appId, limit: 1 });
  expect(items[0]?.runtime).toBe(runtime);
});
