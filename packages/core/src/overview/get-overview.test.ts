// Tests of the overview on a real database: totals, figures of apps, the first-run checklist, and the number of queries.
import { bucketIndex, encodeHistogram } from '@fairlead/contract/histogram';
import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeChecklist } from '../attention/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { type CreatedTestApp, type TestWorld, testPerson, testWorld, wholeOverview } from '../testing/index.ts';
import { getOverview, type OverviewOptions } from './index.ts';

const links = { localHttpsPort: 443, localHttpPort: 80, controlHost: '', publicHost: '' };
const hourMs = 3_600_000;

let db: TestDatabase;
let world: TestWorld;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterEach(() => db.drop());

const overview = (options: Partial<OverviewOptions> = {}) =>
  world.tenant((ctx) => getOverview(ctx, {}, { ...wholeOverview(links), ...options }));

interface Sample {
  readonly table: 'app_1s' | 'app_1m' | 'app_1h';
  readonly agoMs: number;
  readonly requests: number;
  readonly errors?: number;
  readonly latencyUs?: number;
}

async function record({ appId }: CreatedTestApp, samples: readonly Sample[]): Promise<void> {
  const { organizationId, serverId, clock } = world;
  await world.system(async ({ tx }) => {
    const { environmentId } = await tx.placement.findFirstOrThrow({ where: { appId } });
    const from = new Date(clock.now().getTime() - 3 * 24 * hourMs);
    await tx.$queryRaw`SELECT metric.ensure_partitions(${from}, ${clock.now()})`;
    for (const { table, agoMs, requests, errors = 0, latencyUs = 1000 } of samples) {
      const unit = { app_1s: 1000, app_1m: 60_000, app_1h: hourMs }[table];
      const at = new Date(Math.floor((clock.now().getTime() - agoMs) / unit) * unit);
      const latency = encodeHistogram({
        counts: new Map([[bucketIndex(latencyUs), requests]]),
        sumUs: requests * latencyUs,
      });
      await tx.$executeRawUnsafe(
        `INSERT INTO metric.${table} VALUES ($1, $2, $3, $4, $5, 1, $6, $7, 0, $8, 0, 0, 0, 0, 0)`,
        organizationId,
        appId,
        environmentId,
        serverId,
        at,
        requests,
        errors,
        latency,
      );
    }
  });
}

test('an empty organization has no totals, and no false zero', async () => {
  const { totals, apps, attention } = await overview();
  expect(totals).toEqual({
    requests: { current: null, before: null },
    errorShare: { current: null, before: null },
    deployments: { current: null, before: null },
  });
  expect(apps).toEqual([]);
  expect(attention).toEqual({ groups: [], acknowledged: [] });
});

test('totals of the last day stand beside those of the day before', async () => {
  const app = await world.createApp('Shop');
  await record(app, [
    { table: 'app_1h', agoMs: 5 * hourMs, requests: 600, errors: 3 },
    { table: 'app_1s', agoMs: 60_000, requests: 400, errors: 2 },
    { table: 'app_1h', agoMs: 30 * hourMs, requests: 500, errors: 5 },
    { table: 'app_1h', agoMs: 60 * hourMs, requests: 9999 },
  ]);
  const { totals } = await overview();
  expect(totals.requests).toEqual({ current: 1000, before: 500 });
  expect(totals.errorShare).toEqual({ current: 0.005, before: 0.01 });
  expect(totals.deployments).toEqual({ current: 1, before: null });
  world.clock.forward(25 * hourMs);
  expect((await overview()).totals.deployments).toEqual({ current: 0, before: 1 });
});

test('a reader without a reach gets no totals of others', async () => {
  const app = await world.createApp('Shop');
  await record(app, [{ table: 'app_1h', agoMs: 5 * hourMs, requests: 600 }]);
  const nothing = { everywhere: false, projectIds: [], environmentIds: [] };
  const whole = wholeOverview(links);
  const { totals } = await overview({ reach: { ...whole.reach, metrics: nothing, deployments: nothing } });
  expect(totals.requests).toEqual({ current: null, before: null });
  expect(totals.deployments).toEqual({ current: null, before: null });
  const { projectId } = await world.system(({ tx }) =>
    tx.project.findFirstOrThrow().then(({ id }) => ({ projectId: id })),
  );
  const there = { ...nothing, projectIds: [projectId] };
  expect((await overview({ reach: { ...whole.reach, metrics: there } })).totals.requests.current).toBe(600);
});

test('an app has error rate and p95 of its last half hour, and who deployed it; without requests there are dashes', async () => {
  const [busy, quiet] = [await world.createApp('Busy'), await world.createApp('Quiet')];
  await record(busy, [
    { table: 'app_1m', agoMs: 10 * 60_000, requests: 90, errors: 9 },
    { table: 'app_1s', agoMs: 30_000, requests: 10, latencyUs: 80_000 },
    { table: 'app_1m', agoMs: 50 * 60_000, requests: 1000, errors: 1000 },
  ]);
  const { apps } = await overview();
  const of = (id: string) => apps.find((app) => app.id === id);
  expect(of(busy.appId)).toMatchObject({ requests: 100, errorShare: 0.09 });
  expect(of(busy.appId)?.p95Ms).toBeGreaterThan(70);
  expect(of(quiet.appId)).toMatchObject({ requests: null, errorShare: null, p95Ms: null });
  expect(of(quiet.appId)?.deployedBy).toMatchObject({ actorName: 'Owner of acme', trigger: 'manual' });
});

test('the checklist ticks itself from real data, and is gone when all is done', async () => {
  const steps = async (options: Partial<OverviewOptions> = {}) => {
    const { checklist } = await overview(options);
    return checklist === null ? null : Object.fromEntries(checklist.map(({ step, isDone }) => [step, isDone]));
  };
  // The sample app of the first start is no step.
  const sample = await world.createApp('Hello', { host: 'hello.localhost' });
  await world.system(({ tx }) => tx.deployment.updateMany({ data: { trigger: 'system', state: 'live' } }));
  expect(await steps()).toEqual({ deploy: false, domain: false, invite: false, server: false });
  const operator = { hasBackups: true, hasMail: false };
  expect(await steps({ checklist: { ...wholeOverview(links).checklist, operator } })).toMatchObject({
    backups: true,
    mail: false,
  });
  await world.system(({ tx }) =>
    tx.deployment.updateMany({ where: { appId: sample.appId }, data: { trigger: 'manual' } }),
  );
  expect(await steps()).toMatchObject({ deploy: true, domain: false });
  await world.createApp('Shop', { host: 'shop.example.test' });
  expect(await steps()).toMatchObject({ domain: true, invite: false });
  await testPerson(db.database, world, 'Ada', 'viewer');
  expect(await steps()).toMatchObject({ invite: true, server: false });
  const { organizationId } = world;
  const second = { organizationId, name: 'edge', publicKey: new Uint8Array(32).fill(9) };
  await world.system(({ tx }) => tx.server.create({ data: { ...second, id: newId('srv') } }));
  expect(await steps()).toMatchObject({ server: false });
  await world.system(({ tx }) => tx.server.updateMany({ data: { lastSeenAt: world.clock.now() } }));
  expect(await steps()).toBeNull();
});

test('a member dismisses the checklist for themselves', async () => {
  const ada = await testPerson(db.database, world, 'Ada', 'developer');
  const options = wholeOverview(links);
  const of = (run: <T>(work: (ctx: Ctx) => Promise<T>) => Promise<T>) =>
    run(async (ctx) => (await getOverview(ctx, {}, options)).checklist);
  await ada.as((ctx) => closeChecklist(ctx));
  await ada.as((ctx) => closeChecklist(ctx));
  expect(await of((work) => ada.as((ctx) => work(ctx)))).toBeNull();
  expect(await of((work) => world.tenant(work))).not.toBeNull();
});

test('the number of queries does not depend on what the organization has', async () => {
  const count = async () => {
    let queries = 0;
    await world.tenant(async (ctx) => {
      await getOverview({ ...ctx, tx: countCalls(ctx.tx, () => (queries += 1)) }, {}, wholeOverview(links));
    });
    return queries;
  };
  await world.createApp('First');
  const few = await count();
  for (let index = 0; index < 6; index += 1) await world.createApp(`App ${index}`);
  await world.system(({ tx }) =>
    tx.deployment.updateMany({ data: { state: 'failed', failureCode: 'build.command_failed' } }),
  );
  expect(await count()).toBe(few);
  expect(few).toBeLessThan(25);
});

/** Counts the calls of methods of the transaction and of its tables. */
function countCalls<T extends object>(of: T, onCall: () => void): T {
  return new Proxy(of, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value === 'function') {
        return (...args: unknown[]) => {
          onCall();
          return Reflect.apply(value, target, args);
        };
      }
      return typeof value === 'object' && value !== null ? countCalls(value, onCall) : value;
    },
  });
}
