// Tests of a benchmark gate with a real agent: a release goes live only after it was measured, and one that misses a threshold
// never gets a request.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { respondingApp } from './harness/apps.ts';
import { Dashboard } from './harness/dashboard.ts';
import { System } from './harness/system.ts';

let system: System;
let dashboard: Dashboard;

beforeAll(async () => {
  system = await System.start({ dashboard: true });
  dashboard = await Dashboard.open(system);
});
afterAll(() => system?.stop());

const gate = { path: '/', concurrency: 4, durationMs: 500, rounds: 3 };
const possible = [
  { metric: 'success_percent', min: 100 },
  { metric: 'requests_per_second', min: 1 },
] as const;
const impossible = [{ metric: 'requests_per_second', min: 1e9 }] as const;

/** Sends requests one after the other until it is stopped, and returns their answers. */
function visit(slug: string) {
  const answers: string[] = [];
  let isOver = false;
  const over = (async () => {
    while (!isOver) {
      const answer = await system.get(slug).then(
        ({ status, body }) => `${status} ${body}`,
        (error: unknown) => String(error),
      );
      answers.push(answer);
    }
  })();
  return async () => {
    isOver = true;
    await over;
    return answers;
  };
}

test('a release that meets its gate goes live, one that misses it never gets a request, and visitors notice neither', async () => {
  const repository = await system.repositories.create('gated', respondingApp('one'));
  const appId = await dashboard.createApp('gated', repository, {
    settings: { benchmarkGate: { ...gate, thresholds: [...possible] } },
  });
  const first = await dashboard.deploy({ appId });
  expect(first).toMatchObject({ state: 'live', failureMessage: null });
  const measured = first.servers[0]?.gate;
  expect(measured).toMatchObject({ outcome: 'passed', concurrency: 4, rounds: 3 });
  expect(measured?.rows.map(({ round, requests }) => [round, requests > 0])).toEqual([
    [0, true],
    [1, true],
    [2, true],
  ]);
  const finished = first.steps.filter(({ state }) => state === 'done').map(({ name }) => name);
  expect(finished.slice(finished.indexOf('health'))).toEqual(['health', 'benchmark', 'switch', 'drain']);

  const stop = visit('gated');
  await repository.commit('Answer two', respondingApp('two'));
  expect(await dashboard.deploy({ appId })).toMatchObject({ state: 'live' });
  await dashboard.owner.config.update.mutate({
    appId,
    settings: { benchmarkGate: { ...gate, thresholds: [...impossible] } },
  });
  await repository.commit('Answer three', respondingApp('three'));
  const missed = await dashboard.deploy({ appId });
  const answers = await stop();
  expect(missed).toMatchObject({ state: 'failed', failureCode: 'benchmark.threshold_missed' });
  expect(missed.failureMessage).toMatch(
    /^Throughput of the new release is [\d.]+ requests\/s, and the gate wants at least 1000000000 requests\/s\./,
  );
  expect(missed.servers[0]?.gate).toMatchObject({ outcome: 'failed', thresholds: [{ passed: false }] });
  const stateOf = (step: string) => missed.steps.find(({ name }) => name === step)?.state;
  expect([stateOf('health'), stateOf('benchmark'), stateOf('switch')]).toEqual(['done', 'failed', 'skipped']);
  expect(new Set(answers)).toEqual(new Set(['200 one', '200 two']));
  expect((await system.get('gated')).body).toBe('two');
  const app = await dashboard.owner.app.get.query({ slug: 'gated' });
  expect(app).toMatchObject({ status: 'healthy', liveRelease: { number: 2 } });
});

test('a gate relative to the live release measures both, and a plan of the repository is saved', async () => {
  const repository = await system.repositories.create('compared', respondingApp('one'));
  const relative = (max: number) => ({
    benchmarkGate: { ...gate, thresholds: [{ metric: 'p50_ms' as const, max, relativeTo: 'live' as const }] },
  });
  const appId = await dashboard.createApp('compared', repository, { settings: relative(0.001) });
  const first = await dashboard.deploy({ appId });
  expect(first).toMatchObject({ state: 'live' });
  // Without a live release there is nothing to compare with.
  expect(first.servers[0]?.gate).toMatchObject({ outcome: 'passed', liveRows: [], thresholds: [{ cells: [] }] });

  await repository.commit('Answer two, and hold a plan', {
    ...respondingApp('two'),
    'fairlead.bench.json': JSON.stringify({ format: 'fairlead-plan-1', name: 'Nightly', plan: { concurrency: [4] } }),
  });
  const missed = await dashboard.deploy({ appId });
  expect(missed).toMatchObject({ state: 'failed', failureCode: 'benchmark.threshold_missed' });
  expect(missed.failureMessage).toContain('× that of the live release, and the gate wants at most 0.001 ×');
  expect(missed.servers[0]?.gate).toMatchObject({ outcome: 'failed', rows: [{}, {}, {}], liveRows: [{}, {}, {}] });
  expect(missed.plan).toContain('fairlead.bench.json is the benchmark plan Nightly.');
  const plans = await dashboard.owner.benchmarkPlan.list.query({ appId });
  expect(plans.items).toMatchObject([{ name: 'Nightly', isFromRepository: true, plan: { concurrency: [4] } }]);

  await dashboard.owner.config.update.mutate({ appId, settings: relative(1000) });
  await repository.commit('Answer three, without a plan', { ...respondingApp('three'), 'fairlead.bench.json': null });
  const passed = await dashboard.deploy({ appId });
  expect(passed).toMatchObject({ state: 'live' });
  expect(passed.servers[0]?.gate?.thresholds[0]?.cells[0]).toMatchObject({ interval: { low: expect.any(Number) } });
  // Without a schedule, the plan goes with its file.
  expect((await dashboard.owner.benchmarkPlan.list.query({ appId })).items).toEqual([]);
});

test('a cancel ends the load of a gate and the instance under it, and the old release keeps serving', async () => {
  const repository = await system.repositories.create('cancelled', respondingApp('one'));
  const appId = await dashboard.createApp('cancelled', repository);
  expect(await dashboard.deploy({ appId })).toMatchObject({ state: 'live' });
  await dashboard.owner.config.update.mutate({
    appId,
    settings: { benchmarkGate: { ...gate, durationMs: 19_000, thresholds: [...possible] } },
  });
  const { deploymentId } = await dashboard.owner.deployment.create.mutate({ appId });
  await dashboard.deploymentWith(
    deploymentId,
    ({ steps }) => steps.some(({ name, state }) => name === 'benchmark' && state === 'running'),
    'the load',
  );
  await dashboard.owner.deployment.cancel.mutate({ deploymentId });
  expect(await dashboard.ended(deploymentId)).toMatchObject({ state: 'cancelled' });
  const left = await dashboard.appWith('cancelled', ({ instances }) => instances.length === 1, 'the end of the load');
  expect(left.instances[0]).toMatchObject({ state: 'healthy' });
  expect((await system.get('cancelled')).body).toBe('one');
});
