// Tests of scheduled backups on the real queue. Small scripts stand in for the one that makes the files, which
// e2e/system/settings.test.ts runs.
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { createBackup } from '@fairlead/core/backup';
import { systemClock } from '@fairlead/core/kernel';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys } from '@fairlead/core/secret';
import { silentLog, testWorld, testWrapper } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createMailer, type Mailer } from '@fairlead/mail';
import type { Schedule } from '@fairlead/settings';
import { SMTPServer } from 'smtp-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runScript } from './backup-process.ts';
import { startWorker, type Worker } from './worker.ts';

const daily: Schedule = { periodMs: 24 * 3_600_000, offsetMs: 0 };
const result = { dataFile: '/b/1.data.age', keysFile: '/b/1.keys.age', sizeBytes: 7, deleted: 0 };

let db: TestDatabase;
let dir: string;
const workers: Worker[] = [];
const complaints: string[] = [];
const log = { ...silentLog, error: (fields: object) => void complaints.push(JSON.stringify(fields)) };

beforeEach(async () => {
  complaints.length = 0;
  db = await testDatabase({ poolMax: 4 });
  dir = await mkdtemp(join(tmpdir(), 'fairlead-worker-backup-'));
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  await db.drop();
  await rm(dir, { recursive: true });
});

/** Starts a worker whose backups run the body of a script. */
async function start(body: string, change: { schedule?: Schedule | null; mailer?: Mailer } = {}): Promise<Worker> {
  const { schedule = daily, mailer = null } = change;
  const script = join(dir, `${workers.length}.mjs`);
  await writeFile(script, body);
  const worker = await startWorker({
    database: db.database,
    databaseUrl: db.url,
    workerId: String(workers.length),
    logs: createFolderLogStore(dir),
    artifacts: createFolderArtifactStore(join(dir, 'artifacts')),
    secretKeys: createSecretKeys(testWrapper()),
    mailer,
    publicUrl: 'https://fairlead.example.test',
    backups: {
      schedule,
      dataDir: dir,
      freeBytesMin: 0,
      make: (stopping) => runScript({ script, request: { to: '/b' }, stopping, log }),
    },
    log,
  });
  workers.push(worker);
  return worker;
}

const mailerTo = (port: number) =>
  createMailer({ url: `smtp://127.0.0.1:${port}`, from: 'Fairlead <fairlead@example.test>' });
const answer = (value: object) => `
  process.stdin.once('data', (line) => {
    if (JSON.parse(line).to === '/b') process.stdout.write(${JSON.stringify(JSON.stringify(value))}, () => process.exit(0));
  });`;
const rows = () => db.database.system('test', (tx) => tx.backup.findMany({ orderBy: { createdAt: 'asc' } }));
const states = async () => (await rows()).map(({ state }) => state);

test('a worker makes the backup that is due when it starts, and records its files', async () => {
  await start(answer(result));
  await expect.poll(states, { timeout: 20_000 }).toEqual(['succeeded']);
  const { deleted: _, ...files } = result;
  expect(await rows()).toMatchObject([{ ...files, sizeBytes: 7n, failure: null, requestedByUserId: null }]);
});

test('a failure is recorded with its reason', async () => {
  await start(answer({ failure: 'The disk of /b is full.' }));
  await expect.poll(states, { timeout: 20_000 }).toEqual(['failed']);
  expect((await rows())[0]?.failure).toBe('The disk of /b is full.');
  expect(complaints.filter((line) => line.includes('backup'))).toEqual([]);
});

test('operators get a mail about the first failure', async () => {
  const world = await testWorld(db.database);
  const { organizationId, organizationSlug } = world;
  await world.system(({ tx, clock }) =>
    tx.setupToken.create({ data: { id: 'stk_used', organizationId, tokenHash: 'used', usedAt: clock.now() } }),
  );
  const received: string[] = [];
  const sink = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, { envelope }, done) => {
      void text(stream).then((body) => {
        received.push(`${envelope.rcptTo.map(({ address }) => address).join()} ${body.replaceAll('=\r\n', '')}`);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  const { port } = sink.server.address() as AddressInfo;
  await start(answer({ failure: 'The disk of /b is full.' }), { mailer: mailerTo(port) });
  await expect.poll(() => received, { timeout: 20_000 }).toHaveLength(1);
  await new Promise<void>((resolve) => sink.close(resolve));
  expect(received[0]).toMatch(/^owner@acme\.example\.test /);
  expect(received[0]).toContain('The disk of /b is full.');
  expect(received[0]).toContain(`https://fairlead.example.test/${organizationSlug}/settings/control-plane`);
});

test('a process that crashes is a failure, and the log has its last words', async () => {
  await start(`console.error('out of memory'); process.exit(7);`, { schedule: null });
  await db.database.system('test', (tx) =>
    createBackup({ tx, clock: systemClock, log }, { slot: null, requestedByUserId: null }),
  );
  await expect.poll(states, { timeout: 20_000 }).toEqual(['failed']);
  expect((await rows())[0]?.failure).toBe('The backup ended unexpectedly. The log of the worker says why.');
  expect(complaints.join('\n')).toMatch(/code 7.*out of memory/);
});

test('a worker that stops ends its backup, and the next worker makes it again', async () => {
  const mark = join(dir, 'started');
  const first = await start(`
    import { writeFileSync } from 'node:fs';
    process.stdin.resume();
    writeFileSync(${JSON.stringify(mark)}, String(process.pid));`);
  await expect.poll(() => existsSync(mark), { timeout: 20_000 }).toBe(true);
  expect(await states()).toEqual(['running']);
  await first.stop();
  expect(await states()).toEqual(['interrupted']);
  await start(answer(result));
  await expect.poll(states, { timeout: 20_000 }).toEqual(['interrupted', 'succeeded']);
});
