// Tests of the agent link behind an ordinary HTTPS reverse proxy (nginx): enrolment, deployment, logs, and reconnection
// after the proxy dropped it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { respondingApp } from './harness/apps.ts';
import { startNginx } from './harness/nginx.ts';
import { System } from './harness/system.ts';

let system: System;

beforeAll(async () => {
  system = await System.start({ front: startNginx });
});
afterAll(() => system?.stop());

test('an agent enrols and deploys through nginx over HTTPS', async () => {
  const repository = await system.repositories.create('fronted', respondingApp('through nginx'));
  const deployment = await system.createApp('fronted', repository);
  expect(deployment).toMatchObject({ state: 'live' });
  expect(await system.get('fronted')).toEqual({ status: 200, body: 'through nginx' });
  await waitFor(async () => (await system.log(deployment.id)).length > 0, {
    what: 'the stored log',
    timeoutMs: 10_000,
  });
});
