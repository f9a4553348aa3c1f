// Concurrent work of people, the worker, the sweeper and the agent on the same server.

import { WorkState } from '@fairlead/contract/agent';
import type { AppId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attachDomain } from '../domain/index.ts';
import { AppError } from '../kernel/index.ts';
import { builtStatus, rolloutStatus, type TestWorld, testWorld } from '../testing/index.ts';
import { cancelDeployment, createDeployment, failOverdueDeployments, isFinished, listDeployments } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
beforeAll(async () => {
  db = await testDatabase({ poolMax: 8 });
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

test('no deadlock occurs, and at most one deployment of an app runs', async () => {
  const apps: AppId[] = [];
  for (const name of ['a', 'b', 'c', 'd']) apps.push((await world.createApp(name)).appId);
  const all = () => world.tenant((ctx) => listDeployments(ctx, { limit: 100 }));

  const allowed = new Set(['deployment.already_finished', 'domain.taken']);
  const attempt = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((error: unknown) => {
      if (!(error instanceof AppError && allowed.has(error.code))) throw error;
    });
  };
  for (let round = 0; round < 6; round += 1) {
    const { items } = await all();
    const ids = items.map(({ id }) => id);
    await Promise.all([
      ...apps.map((appId) => attempt(world.tenant((ctx) => createDeployment(ctx, { appId })))),
      ...ids.slice(0, 6).map((id) => attempt(world.advance(id))),
      attempt(world.report({ builds: ids.map((id) => builtStatus(id)) })),
      attempt(world.report({ rollouts: ids.map((id) => rolloutStatus(id, WorkState.SUCCEEDED)) })),
      attempt(world.system(failOverdueDeployments)),
      attempt(world.desired()),
      ...ids.slice(0, 2).map((id) => attempt(world.tenant((ctx) => cancelDeployment(ctx, { deploymentId: id })))),
      ...apps.map((appId) =>
        attempt(
          world.tenant((ctx) =>
            attachDomain(
              ctx,
              { appId, host: `r${round}.example.test`, pathPrefix: '/' },
              { localHttpsPort: 1, localHttpPort: 2, controlHost: '', publicHost: '' },
            ),
          ),
        ),
      ),
    ]);
    world.clock.forward(30_000);
    const underWay = (await all()).items.filter(({ state }) => state === 'building' || state === 'rolling_out');
    expect(new Set(underWay.map(({ appId }) => appId)).size).toBe(underWay.length);
  }
  // In any outcome, every app can still be deployed.
  for (const { id, state } of (await all()).items) {
    if (!isFinished(state)) await world.tenant((ctx) => cancelDeployment(ctx, { deploymentId: id }));
  }
  for (const appId of apps) {
    const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
    await world.advance(deploymentId);
    await world.finish(deploymentId);
  }
  expect((await all()).items.filter(({ isCurrent }) => isCurrent)).toHaveLength(apps.length);
});
