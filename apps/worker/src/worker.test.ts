// Tests of the worker on a real queue and a real database.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { advanceDeploymentJob, type JobName, moveMetricsJob } from '@fairlead/contract/jobs';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { createDeployment } from '@fairlead/core/deployment';
import { type Log, systemClock } from '@fairlead/core/kernel';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys } from '@fairlead/core/secret';
import { testWrapper } from '@fairlead/core/testing';
import { enqueue } from '@fairlead/db';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { makeWorkerUtils } from 'graphile-worker';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Handlers } from './handlers/handler.ts';
import { handlers } from './handlers/index.ts';
import { startWorker, type Worker } from './worker.ts';

let db: TestDatabase;
let rows: OrganizationRows;
let organizationId: OrganizationId;
let logDir: string;
const workers: Worker[] = [];
const complaints: string[] = [];
const complain = (fields: object, message: string) => {
  complaints.push(`${message} ${JSON.stringify(fields)}`);
};
const log: Log = { debug: () => {}, info: () => {}, warn: complain, error: complain };

beforeEach(async () => {
  complaints.length = 0;
  db = await testDatabase({ poolMax: 4 });
  logDir = await mkdtemp(join(tmpdir(), 'fairlead-worker-'));
  rows = await insertOrganizationRows(db.database, 'acme');
  organizationId = parseId('org', rows.organizationId);
  // No GitHub answers here, so the app is one of another git host.
  await db.database.system('test', (tx) => tx.appRepository.deleteMany());
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  await db.drop();
  await rm(logDir, { recursive: true });
});

/** Edits the queue's own tables to leave them as a dying worker or an older version would. */
async function queue(statement: string): Promise<void> {
  const utils = await makeWorkerUtils({ connectionString: db.url });
  await utils.withPgClient((client) => client.query(statement));
  await utils.release();
}

async function start(workerId: string, change: Partial<Handlers> = {}): Promise<Worker> {
  const worker = await startWorker({
    database: db.database,
    databaseUrl: db.url,
    workerId,
    logs: createFolderLogStore(logDir),
    artifacts: createFolderArtifactStore(join(logDir, 'artifacts')),
    secretKeys: createSecretKeys(testWrapper()),
    log,
    handlers: { ...handlers, ...change },
  });
  workers.push(worker);
  return worker;
}

async function deploy(): Promise<string> {
  const { deploymentId } = await db.database.tenant(organizationId, (tx) =>
    createDeployment(
      { tx, organizationId, actor: { kind: 'system', reason: 'test' }, clock: systemClock, log },
      { appId: parseId('app', rows.appId) },
    ),
  );
  return deploymentId;
}

function deployment(id: string) {
  return db.database.system('test', (tx) => tx.deployment.findUniqueOrThrow({ where: { id } }));
}

function desiredNumber(): Promise<bigint> {
  return db.database.system('test', async (tx) => {
    const server = await tx.server.findUniqueOrThrow({ where: { id: rows.serverId } });
    return server.desiredNumber;
  });
}

test('a requested deployment starts building at once, and its server gets a new desired state', async () => {
  await start('one');
  const before = await desiredNumber();
  const id = await deploy();
  await expect.poll(async () => (await deployment(id)).state).toBe('building');
  expect(await deployment(id)).toMatchObject({ leaseOwner: 'one', leaseUntil: expect.any(Date) });
  expect(await desiredNumber()).toBeGreaterThan(before);
});

test('a deployment whose worker died before it started is picked up by the next one', async () => {
  const id = await deploy();
  // The dead worker had claimed the job: the queue itself would release it only after hours.
  await queue(`UPDATE graphile_worker._private_jobs SET locked_by = 'dead', locked_at = now(), attempts = 1`);
  await db.database.system('test', (tx) =>
    tx.deployment.update({ where: { id }, data: { queuedAt: new Date(Date.now() - 60_000) } }),
  );
  await start('two');
  await expect.poll(async () => (await deployment(id)).leaseOwner).toBe('two');
});

test('a deployment whose worker died half-way is taken over, and the server is notified again', async () => {
  const first = await start('one');
  const id = await deploy();
  await expect.poll(async () => (await deployment(id)).state).toBe('building');
  await first.stop();
  await db.database.system('test', (tx) => tx.deployment.update({ where: { id }, data: { leaseUntil: new Date(0) } }));
  const before = await desiredNumber();
  await start('two');
  await expect.poll(async () => (await deployment(id)).leaseOwner).toBe('two');
  expect(await desiredNumber()).toBeGreaterThan(before);
});

test('a deployment that its server does not finish in time fails with a message', async () => {
  await start('one');
  const id = await deploy();
  await expect.poll(async () => (await deployment(id)).state).toBe('building');
  await db.database.system('test', (tx) => tx.deployment.update({ where: { id }, data: { deadlineAt: new Date(0) } }));
  await start('sweeper');
  await expect.poll(async () => (await deployment(id)).state).toBe('failed');
  expect((await deployment(id)).failureMessage).toMatch(/^[A-Z].*\.$/);
});

test('samples move with their app', async () => {
  const { appId, environmentId, serverId } = rows;
  const to = newId('env');
  await db.database.system(
    'test',
    (tx) => tx.$executeRaw`
      INSERT INTO metric.app_1h (organization_id, app_id, environment_id, server_id, at, requests, errors, client_errors,
        latency, bytes_received, bytes_sent, cpu_millis_avg, memory_bytes_max, in_flight_max)
      VALUES (${organizationId}, ${appId}, ${environmentId}, ${serverId}, date_trunc('hour', now()), 7, 0, 0, '', 0, 0, 0,
        0, 0)`,
  );
  await start('one');
  const environments = [{ from: parseId('env', environmentId), to }];
  await db.database.tenant(organizationId, (tx) =>
    enqueue(tx, moveMetricsJob, { organizationId, appId: parseId('app', appId), environments }),
  );
  const found = () =>
    db.database.system(
      'test',
      (tx) => tx.$queryRaw<{ environment_id: string }[]>`
        SELECT environment_id FROM metric.app_1h WHERE app_id = ${appId}`,
    );
  await expect.poll(found).toEqual([{ environment_id: to }]);
});

test('a job whose payload no longer fits its schema fails and harms no other', async () => {
  await queue(`SELECT graphile_worker.add_job('deployment.advance', '{"organizationId": "org_1"}', max_attempts => 1)`);
  await start('one');
  const id = await deploy();
  await expect.poll(async () => (await deployment(id)).state).toBe('building');
  await expect.poll(() => complaints.join('\n')).toContain('deployment.advance');
});

test("a job opens the scope of its own organization and cannot see another's deployment", async () => {
  const other = await insertOrganizationRows(db.database, 'other');
  const id = await deploy();
  await queue('DELETE FROM graphile_worker._private_jobs');
  const finished = Promise.withResolvers<void>();
  const advance: Handlers['deployment.advance'] = async (parts, payload) => {
    await handlers['deployment.advance'](parts, payload);
    finished.resolve();
  };
  const quiet = async () => {};
  await start('one', { 'deployment.advance': advance, 'deployment.sweep': quiet });
  await db.database.system('test', (tx) =>
    enqueue(tx, advanceDeploymentJob, {
      organizationId: parseId('org', other.organizationId),
      deploymentId: parseId('dep', id),
    }),
  );
  await finished.promise;
  expect((await deployment(id)).state).toBe('queued');
});

test('stopping waits for the running job', async () => {
  const [started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const order: string[] = [];
  const worker = await start('one', {
    'deployment.advance': async () => {
      started.resolve();
      await released.promise;
      order.push('job');
    },
  });
  await deploy();
  await started.promise;
  const stopped = worker.stop().then(() => order.push('stopped'));
  released.resolve();
  await stopped;
  expect(order).toEqual(['job', 'stopped']);
});

test('interval jobs run at start, each once at a time', async () => {
  const runs: JobName[] = [];
  const both = Promise.withResolvers<void>();
  const note = (name: JobName) => async () => {
    runs.push(name);
    if (runs.length === 2) both.resolve();
  };
  await start('one', { 'deployment.sweep': note('deployment.sweep'), 'benchmark.sweep': note('benchmark.sweep') });
  await both.promise;
  expect(runs.sort()).toEqual(['benchmark.sweep', 'deployment.sweep']);
});

test('an organization past its deletion delay is deleted with its logs; another one stays', async () => {
  const other = await insertOrganizationRows(db.database, 'other');
  const store = createFolderLogStore(logDir);
  const objectKey = `${organizationId}/${rows.deploymentId}/1.json.zst`;
  await store.put(objectKey, new Uint8Array([1]));
  await db.database.system('test', async (tx) => {
    await tx.logChunk.create({
      data: {
        id: newId('lgc'),
        organizationId,
        deploymentId: rows.deploymentId,
        firstLine: 1,
        lineCount: 1,
        objectKey,
        sizeBytes: 1,
      },
    });
    await tx.organization.update({
      where: { id: organizationId },
      data: { deleteAt: new Date(0), endingAt: new Date(0) },
    });
  });
  await start('one');
  const left = () => db.database.system('test', (tx) => tx.organization.findMany({ select: { id: true } }));
  await expect.poll(left).toEqual([{ id: other.organizationId }]);
  expect(await store.get(objectKey)).toBeNull();
  // Test rows have a data key that no master key opens, and another job logs that: look at this job's errors only.
  expect(complaints.filter((complaint) => complaint.includes('organization.sweep'))).toEqual([]);
});
