// Short form of `npm run check:deploys`.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { drillDeploys } from '../deploys/drill.ts';
import { System } from './harness/system.ts';

let system: System;

beforeAll(async () => {
  system = await System.start();
});
afterAll(() => system?.stop());

test('deployments, rollbacks, restarts and scalings lose nothing under all kinds of load', {
  timeout: 600_000,
}, async () => {
  const { deployments, problems, load } = await drillDeploys(system, { rounds: 4 });
  expect(problems).toEqual([]);
  expect(load.failures).toEqual([]);
  expect(deployments).toBe(16);
  expect(load.sentAway).toBeGreaterThan(0);
});
