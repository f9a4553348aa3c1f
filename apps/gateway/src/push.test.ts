// Tests of agents' pushes: stored once, acknowledged after the commit, streamed live at once.
import { create } from '@bufbuild/protobuf';
import {
  type AppSample,
  AppSampleSchema,
  FrameSchema,
  HistogramSchema,
  HostSampleSchema,
  LogChunkSchema,
  LogStream,
  type Push,
  PushSchema,
} from '@fairlead/contract/agent';
import { bucketIndex } from '@fairlead/contract/histogram';
import { decodeLogLines } from '@fairlead/core/log';
import { insertOrganizationRows } from '@fairlead/db/testing';
import type { OpenFakeLink } from '@fairlead/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from './testing.ts';

let gateway: TestGateway;
let link: OpenFakeLink;
let sequence = 0n;
beforeAll(async () => {
  gateway = await startTestGateway();
});
beforeEach(async () => {
  const agent = await gateway.knownAgent();
  link = await agent.connect(gateway.rows.serverId);
});
afterAll(() => gateway.close());

// Whole seconds of the last minute; each is used once.
let second = Math.floor(Date.now() / 1000) - 50;

function nextSecond(): number {
  second += 1;
  return second * 1000;
}

function appSample(change: Partial<AppSample> = {}): AppSample {
  const { appId, environmentId } = gateway.rows;
  const latency = create(HistogramSchema, { index: [bucketIndex(1500)], count: [4n], sumUs: 6000n });
  const sample = create(AppSampleSchema, {
    appId,
    environmentId,
    requests: 4,
    latency,
    cpuMillis: 100,
    memoryBytes: 5n,
  });
  return Object.assign(sample, change);
}

function nextPush(body: Push['body']): Push {
  sequence += 1n;
  return create(PushSchema, { sequence, body });
}

function frame(unixMs: number, apps: AppSample[] = [appSample()]): Push {
  const host = create(HostSampleSchema, { cpuMillis: 900, memoryTotalBytes: 100n, memoryUsedBytes: 40n });
  const value = create(FrameSchema, { agentUnixMs: BigInt(unixMs), durationMs: 1000, host, apps });
  return nextPush({ case: 'frame', value });
}

function logChunk(deploymentId: string, firstLine: number, texts: string[]): Push {
  const lines = texts.map((text) => ({ unixMs: BigInt(Date.now()), step: 'build', stream: LogStream.STDOUT, text }));
  const value = create(LogChunkSchema, { deploymentId, firstLine: BigInt(firstLine), lines });
  return nextPush({ case: 'log', value });
}

async function pushAll(...pushes: Push[]): Promise<void> {
  for (const push of pushes) link.send({ case: 'push', value: push });
  const last = pushes.at(-1)?.sequence ?? 0n;
  let acked = 0n;
  while (acked < last) acked = (await link.next('pushAck')).sequence;
}

async function appRows(unixMs: number) {
  return gateway.system(
    ({ tx }) => tx.$queryRaw<{ requests: bigint; appId: string; organizationId: string }[]>`
      SELECT requests, app_id AS "appId", organization_id AS "organizationId" FROM metric.app_1s WHERE at = ${new Date(unixMs)}`,
  );
}

function storedSequence(): Promise<bigint> {
  return gateway.system(async ({ tx }) => {
    const server = await tx.server.findUniqueOrThrow({ where: { id: gateway.rows.serverId } });
    return server.pushAckedSequence;
  });
}

test('a frame is stored before it is acknowledged', async () => {
  const unixMs = nextSecond();
  const push = frame(unixMs);
  await pushAll(push);
  expect(await appRows(unixMs)).toEqual([
    { requests: 4n, appId: gateway.rows.appId, organizationId: gateway.rows.organizationId },
  ]);
  expect(await storedSequence()).toBe(push.sequence);
});

test('a push that is sent again after a lost connection is acknowledged but not stored twice', async () => {
  const [first, later] = [nextSecond(), nextSecond()];
  const pushes = [frame(first), logChunk(gateway.rows.deploymentId, 100, ['once'])];
  await pushAll(...pushes);
  link.crash();

  const agent = await gateway.knownAgent();
  link = await agent.connect(gateway.rows.serverId);
  expect(link.welcome.pushAckedSequence).toBe(pushes.at(-1)?.sequence);
  // The same sequences with other contents: the first contents stay.
  const again = pushes.map((push) =>
    create(PushSchema, { ...push, body: frame(first, [appSample({ requests: 99 })]).body }),
  );
  await pushAll(...again, frame(later));
  expect(await appRows(first)).toMatchObject([{ requests: 4n }]);
  expect(await appRows(later)).toHaveLength(1);
});

test('samples of apps that are not on this server are skipped', async () => {
  const other = await insertOrganizationRows(gateway.db.database, `other-${second}`);
  const unixMs = nextSecond();
  await pushAll(frame(unixMs, [appSample({ appId: other.appId, environmentId: other.environmentId }), appSample()]));
  expect(await appRows(unixMs)).toMatchObject([{ appId: gateway.rows.appId }]);
});

test('an impossible histogram ends the session, and nothing of its batch is stored', async () => {
  const unixMs = nextSecond();
  const before = await storedSequence();
  const latency = create(HistogramSchema, { index: [3, 1], count: [1n, 1n] });
  link.send({ case: 'push', value: frame(unixMs, [appSample({ latency })]) });
  expect(await link.ended).toMatchObject({ closeCode: 1008, error: { code: 'link.malformed' } });
  expect(await appRows(unixMs)).toEqual([]);
  expect(await storedSequence()).toBe(before);
});

test('frames far from the current time are dropped and acknowledged, so that a spool never gets stuck', async () => {
  const ancient = Date.now() - 40 * 24 * 3600 * 1000;
  await pushAll(frame(ancient), frame(Date.now() + 3_600_000));
  expect(await storedSequence()).toBe(sequence);
  expect(gateway.complaints.join('\n')).toContain('frames too old or too new were dropped');
});

test('log lines are stored as one object and one index row, whole and readable', async () => {
  const { deploymentId } = gateway.rows;
  await pushAll(logChunk(deploymentId, 200, ['line one', 'nul \0 and \u001b[31mcolour']));
  const chunk = await gateway.system(({ tx }) =>
    tx.logChunk.findUniqueOrThrow({ where: { deploymentId_firstLine: { deploymentId, firstLine: 200 } } }),
  );
  expect(chunk).toMatchObject({ lineCount: 2, organizationId: gateway.rows.organizationId });
  const lines = await decodeLogLines((await gateway.store.get(chunk.objectKey)) ?? new Uint8Array());
  expect(lines.map((line) => [line.stream, line.text])).toEqual([
    ['stdout', 'line one'],
    ['stdout', 'nul  and \u001b[31mcolour'],
  ]);
});

test("log lines for another organization's deployment are dropped", async () => {
  const other = await insertOrganizationRows(gateway.db.database, `foreign-${second}`);
  await pushAll(logChunk(other.deploymentId, 500, ['not yours']));
  const rows = await gateway.system(({ tx }) => tx.logChunk.findMany({ where: { firstLine: 500 } }));
  expect(rows).toEqual([]);
});
