// Tests that samples move with their app exactly once, and that roll-ups count all of them.
import { create } from '@bufbuild/protobuf';
import { AppSampleSchema, FrameSchema, RouteSampleSchema } from '@fairlead/contract/agent';
import { bucketIndex, histogramToWire } from '@fairlead/contract/histogram';
import { newId, parseId } from '@fairlead/contract/ids';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forOrganization, type SystemCtx } from '../kernel/index.ts';
import { silentLog } from '../testing/index.ts';
import { movedTables, moveMetrics } from './move-metrics.ts';
import { recordFrames } from './record-frames.ts';
import { rollUpMetrics } from './roll-up-metrics.ts';

let db: TestDatabase;
let rows: OrganizationRows;
let other: OrganizationRows;
const to = newId('env');
const hourMs = 3_600_000;
// The whole hour before this one, so that its partitions exist.
const hour = Math.floor(Date.now() / hourMs) * hourMs - hourMs;
const inHour = (seconds: number) => hour + seconds * 1000;

beforeAll(async () => {
  db = await testDatabase();
  rows = await insertOrganizationRows(db.database, 'acme');
  other = await insertOrganizationRows(db.database, 'other');
  const { organizationId, projectId } = rows;
  await db.database.system('test', (tx) =>
    tx.environment.create({ data: { id: to, organizationId, projectId, name: 'Next', slug: 'next' } }),
  );
});
afterAll(() => db.drop());

function at<T>(now: number, work: (ctx: SystemCtx) => Promise<T>): Promise<T> {
  return db.database.system('test', (tx) => work({ tx, log: silentLog, clock: { now: () => new Date(now) } }));
}

function record(unixMs: number, environmentId: string, of = rows): Promise<unknown> {
  const { appId, serverId, organizationId } = of;
  const latency = histogramToWire({ counts: new Map([[bucketIndex(1000), 10]]), sumUs: 10_000 });
  const apps = [create(AppSampleSchema, { appId, environmentId, requests: 10, latency })];
  const routes = [
    create(RouteSampleSchema, { appId, environmentId, host: 'a.test', pathPrefix: '/', requests: 10, latency }),
  ];
  const frame = create(FrameSchema, { agentUnixMs: BigInt(unixMs), durationMs: 1000, apps, routes });
  return at(unixMs, (ctx) =>
    recordFrames(forOrganization(ctx, parseId('org', organizationId)), { serverId, frames: [frame], clockOffsetMs: 0 }),
  );
}

async function rollUpAll(now: number): Promise<void> {
  while (await at(now, rollUpMetrics));
}

async function moveAll(now: number): Promise<void> {
  const environments = [{ from: parseId('env', rows.environmentId), to }];
  for (const table of movedTables) {
    await at(now, (ctx) =>
      moveMetrics(
        forOrganization(ctx, parseId('org', rows.organizationId)),
        { appId: parseId('app', rows.appId), environments },
        table,
      ),
    );
  }
}

/** Requests by table and environment. */
async function requests(organizationId = rows.organizationId): Promise<Record<string, Record<string, number>>> {
  const found: Record<string, Record<string, number>> = {};
  for (const table of movedTables) {
    const sums = await at(hour, ({ tx }) =>
      tx.$queryRawUnsafe<{ environment: string; requests: bigint }[]>(
        `SELECT environment_id AS environment, sum(requests)::bigint AS requests FROM metric.${table}
         WHERE organization_id = $1 GROUP BY 1`,
        organizationId,
      ),
    );
    found[table] = Object.fromEntries(sums.map(({ environment, requests: sum }) => [environment, Number(sum)]));
  }
  return found;
}

test('samples move with their app; roll-ups of the minute of the move are complete, and other samples stay', async () => {
  const { environmentId, appId, organizationId } = rows;
  for (const second of [0, 1, 70, 71]) await record(inHour(second), environmentId);
  await record(inHour(0), other.environmentId, other);
  // The running hour is rolled up in the old environment, and the minute of the move in both.
  await rollUpAll(inHour(20 * 60));
  await at(hour, ({ tx }) =>
    tx.placement.updateMany({ where: { appId, organizationId }, data: { environmentId: to } }),
  );
  await record(inHour(72), to);
  await rollUpAll(inHour(30 * 60));
  const theirs = await requests(other.organizationId);
  expect((await requests()).app_1m).toEqual({ [environmentId]: 40, [to]: 10 });

  await moveAll(inHour(31 * 60));
  await rollUpAll(inHour(40 * 60));
  const moved = Object.fromEntries(movedTables.map((table) => [table, { [to]: 50 }]));
  expect(await requests()).toEqual(moved);
  expect(await requests(other.organizationId)).toEqual(theirs);

  await moveAll(inHour(41 * 60));
  await rollUpAll(inHour(50 * 60));
  expect(await requests()).toEqual(moved);
});
