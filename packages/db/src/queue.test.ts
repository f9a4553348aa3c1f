import { parseId } from '@fairlead/contract/ids';
import { advanceDeploymentJob, sweepDeploymentsJob } from '@fairlead/contract/jobs';
import { Logger, runOnce } from 'graphile-worker';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { identityClient } from './identity.ts';
import { enqueue, type ScopedTx } from './index.ts';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from './testing-vitest.ts';

let db: TestDatabase;
let owner: pg.Client;
let mine: OrganizationRows;
let theirs: OrganizationRows;

beforeAll(async () => {
  db = await testDatabase();
  owner = new pg.Client({ connectionString: db.url });
  await owner.connect();
  mine = await insertOrganizationRows(db.database, 'mine');
  theirs = await insertOrganizationRows(db.database, 'theirs');
});
beforeEach(() => owner.query('DELETE FROM graphile_worker._private_jobs'));
afterAll(async () => {
  await owner.end();
  await db.drop();
});

function payloadOf(rows: OrganizationRows) {
  return { organizationId: parseId('org', rows.organizationId), deploymentId: parseId('dep', rows.deploymentId) };
}

async function waiting(): Promise<readonly { key: string | null; identifier: string }[]> {
  return (await owner.query('SELECT key, task_identifier AS identifier FROM graphile_worker.jobs ORDER BY id')).rows;
}

test('a job commits and rolls back with the transaction that enqueued it', async () => {
  await db.database.tenant(mine.organizationId, (tx) => enqueue(tx, advanceDeploymentJob, payloadOf(mine)));
  expect(await waiting()).toHaveLength(1);
  const undone = db.database.tenant(mine.organizationId, async (tx) => {
    await enqueue(tx, advanceDeploymentJob, payloadOf(mine));
    throw new Error('on purpose');
  });
  await expect(undone).rejects.toThrow('on purpose');
  expect(await waiting()).toHaveLength(1);
});

test('a tenant cannot enqueue a job of another organization or of none', async () => {
  const foreign = db.database.tenant(mine.organizationId, (tx) => enqueue(tx, advanceDeploymentJob, payloadOf(theirs)));
  await expect(foreign).rejects.toThrow(/its transaction is of another one/);
  const none = db.database.tenant(mine.organizationId, (tx) => enqueue(tx, sweepDeploymentsJob, {}));
  await expect(none).rejects.toThrow(/its transaction is of another one/);
  expect(await waiting()).toEqual([]);
});

test('system scope may enqueue for itself and for any organization', async () => {
  await db.database.system('test', async (tx) => {
    await enqueue(tx, sweepDeploymentsJob, {});
    await enqueue(tx, advanceDeploymentJob, payloadOf(theirs));
  });
  expect((await waiting()).map((job) => job.identifier)).toEqual(['deployment.sweep', 'deployment.advance']);
});

test('outside a scope nothing can be enqueued', async () => {
  const unscoped = enqueue(identityClient(db.database) as unknown as ScopedTx, sweepDeploymentsJob, {});
  await expect(unscoped).rejects.toThrow(/outside a tenant or system scope/);
});

test('the queue itself is closed to both scopes', async () => {
  const read = db.database.tenant(mine.organizationId, (tx) => tx.$queryRaw`SELECT * FROM graphile_worker.jobs`);
  await expect(read).rejects.toThrow(/permission denied/);
  const added = db.database.system('test', (tx) => tx.$queryRaw`SELECT graphile_worker.add_job('x')`);
  await expect(added).rejects.toThrow(/permission denied/);
});

test('a key replaces the waiting job of its own organization only', async () => {
  const add = (rows: OrganizationRows) =>
    db.database.tenant(rows.organizationId, (tx) =>
      enqueue(tx, advanceDeploymentJob, payloadOf(rows), { key: 'advance' }),
    );
  await add(mine);
  await add(mine);
  await add(theirs);
  expect((await waiting()).map((job) => job.key)).toEqual([
    `${mine.organizationId}:advance`,
    `${theirs.organizationId}:advance`,
  ]);
});

test('a payload that does not fit its definition is refused before it is stored', async () => {
  const bad = db.database.tenant(mine.organizationId, (tx) =>
    enqueue(tx, advanceDeploymentJob, { ...payloadOf(mine), deploymentId: 'nonsense' as never }),
  );
  await expect(bad).rejects.toThrow();
  expect(await waiting()).toEqual([]);
});

test('a worker gets the payload as it was enqueued, at its time', async () => {
  const later = new Date(Date.now() + 3_600_000);
  await db.database.tenant(mine.organizationId, async (tx) => {
    await enqueue(tx, advanceDeploymentJob, payloadOf(mine));
    await enqueue(tx, advanceDeploymentJob, payloadOf(mine), { key: 'later', runAt: later });
  });
  const seen: unknown[] = [];
  await runOnce({
    connectionString: db.url,
    taskList: {
      [advanceDeploymentJob.name]: (payload) => {
        seen.push(payload);
      },
    },
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
  });
  expect(seen).toEqual([payloadOf(mine)]);
  // A worker that runs once may end just before its last job is taken off the list.
  const left = async () => (await owner.query('SELECT run_at FROM graphile_worker.jobs')).rows;
  await expect.poll(left).toEqual([{ run_at: later }]);
});
