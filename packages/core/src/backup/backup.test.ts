import { tmpdir } from 'node:os';
import type { BackupId } from '@fairlead/contract/ids';
import { countJobs } from '@fairlead/db';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import type { Schedule } from '@fairlead/settings';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SystemCtx } from '../kernel/index.ts';
import { auditEventsOf, type TestWorld, testPerson, testWorld } from '../testing/index.ts';
import {
  type BackupResult,
  backupLeaseMs,
  claimBackup,
  createBackup,
  endBackup,
  findBackupObstacle,
  listBackups,
  listBackupWarnings,
  sweepBackups,
  touchBackup,
} from './index.ts';
import { lastSlot, nextSlot } from './slots.ts';

const hour = 3_600_000;
const hourly: Schedule = { periodMs: hour, offsetMs: 0 };
const daily: Schedule = { periodMs: 24 * hour, offsetMs: 3.5 * hour };
const made: BackupResult = { state: 'succeeded', dataFile: '/b/1.data.age', keysFile: '/b/1.keys.age', sizeBytes: 3 };

test('a daily time and an interval have their slots', () => {
  expect(lastSlot(daily, new Date('2026-03-04T03:30:00Z'))).toEqual(new Date('2026-03-04T03:30:00Z'));
  expect(lastSlot(daily, new Date('2026-03-04T03:29:59Z'))).toEqual(new Date('2026-03-03T03:30:00Z'));
  expect(nextSlot(daily, new Date('2026-03-04T03:30:00Z'))).toEqual(new Date('2026-03-05T03:30:00Z'));
  const sixHours = { periodMs: 6 * hour, offsetMs: 0 };
  expect(lastSlot(sixHours, new Date('2026-03-04T17:59:00Z'))).toEqual(new Date('2026-03-04T12:00:00Z'));
  expect(nextSlot(sixHours, new Date('2026-03-04T17:59:00Z'))).toEqual(new Date('2026-03-04T18:00:00Z'));
});

describe('with a database', () => {
  let db: TestDatabase;
  let world: TestWorld;
  beforeEach(async () => {
    db = await testDatabase();
    world = await testWorld(db.database);
  });
  afterEach(() => db.drop());

  const rows = () => world.system(({ tx }) => tx.backup.findMany({ orderBy: { createdAt: 'asc' } }));
  const states = async () => (await rows()).map(({ state }) => state);
  const sweep = (schedule: Schedule | null = hourly) => world.system((ctx) => sweepBackups(ctx, schedule));
  const inSystem = <T>(run: (ctx: SystemCtx) => Promise<T>) => world.system(run);
  async function unfinished(): Promise<BackupId> {
    const row = (await rows()).find(({ state }) => state === 'queued' || state === 'running');
    return row?.id as BackupId;
  }
  async function finish(result: BackupResult): Promise<void> {
    const backupId = await unfinished();
    expect(await inSystem((ctx) => claimBackup(ctx, { backupId }))).toBe(true);
    await inSystem((ctx) => endBackup(ctx, { backupId, ...result }));
  }
  /** Marks the organization as the one that was set up. */
  const setUp = () =>
    inSystem(({ tx, clock }) =>
      tx.setupToken.create({
        data: { id: 'stk_used', organizationId: world.organizationId, tokenHash: 'used', usedAt: clock.now() },
      }),
    );
  const warnings = async (schedule: Schedule | null = hourly) =>
    (await inSystem((ctx) => listBackupWarnings(ctx, { folder: '/b', schedule, keep: 2 }))).map(({ kind }) => kind);

  test('a slot gets one backup and one job, however many workers look', async () => {
    await Promise.all([sweep(), sweep(), sweep()]);
    await sweep();
    expect(await states()).toEqual(['queued']);
    const jobs = await inSystem(({ tx }) => countJobs(tx));
    expect(jobs.find(({ name }) => name === 'backup.run')).toMatchObject({ waiting: 1 });
    await finish(made);
    await sweep();
    expect(await states()).toEqual(['succeeded']);
  });

  test('missed slots are made up for once, and nothing runs without a schedule', async () => {
    await sweep(null);
    expect(await rows()).toEqual([]);
    await sweep();
    await finish(made);
    world.clock.forward(5 * hour);
    await sweep();
    await finish(made);
    await sweep();
    expect(await states()).toEqual(['succeeded', 'succeeded']);
    const slots = (await rows()).map(({ slot }) => slot?.getTime() ?? 0);
    expect((slots[1] ?? 0) - (slots[0] ?? 0)).toBe(5 * hour);
  });

  test('one backup is made at a time', async () => {
    const start = () => inSystem((ctx) => createBackup(ctx, { slot: null, requestedByUserId: null }));
    expect(await start()).not.toBeNull();
    expect(await start()).toBeNull();
    await sweep();
    expect(await states()).toEqual(['queued']);
    await finish(made);
    // The slot waited for the other backup.
    await sweep();
    expect(await states()).toEqual(['succeeded', 'queued']);
  });

  test('a backup that lost its worker is made again, three times at most', async () => {
    for (const expected of [1, 2, 3, 3]) {
      await sweep(daily);
      expect(await rows()).toHaveLength(expected);
      const backupId = await unfinished();
      if (backupId === undefined) break;
      await inSystem((ctx) => claimBackup(ctx, { backupId }));
      world.clock.forward(backupLeaseMs / 2);
      await inSystem((ctx) => touchBackup(ctx, { backupId }));
      world.clock.forward(backupLeaseMs - 1);
      await sweep(daily);
      expect((await states()).at(-1)).toBe('running');
      world.clock.forward(2);
      await sweep(null);
      expect((await states()).at(-1)).toBe('interrupted');
      // Its worker still lives: its result comes too late.
      await inSystem((ctx) => endBackup(ctx, { backupId, ...made }));
      expect((await states()).at(-1)).toBe('interrupted');
    }
    expect(await states()).toEqual(['interrupted', 'interrupted', 'interrupted']);
  });

  test('a backup is claimed once, and its result is audited where the control plane is operated', async () => {
    await setUp();
    await sweep();
    const backupId = await unfinished();
    const claims = await Promise.all([1, 2].map(() => inSystem((ctx) => claimBackup(ctx, { backupId }))));
    expect(claims.sort()).toEqual([false, true]);
    await inSystem((ctx) => endBackup(ctx, { backupId, state: 'failed', failure: 'The disk is full.' }));
    const events = await auditEventsOf(world);
    expect(events.filter(({ action }) => action === 'control_plane.end_backup')).toMatchObject([
      { actorKind: 'system', targetId: backupId, after: { state: 'failed', failure: 'The disk is full.' } },
    ]);
  });

  test('the first failure in a row of scheduled backups names the operators', async () => {
    await testPerson(db.database, world, 'Vera', 'viewer');
    const end = async (result: BackupResult) => {
      await sweep();
      const backupId = await unfinished();
      await inSystem((ctx) => claimBackup(ctx, { backupId }));
      world.clock.forward(hour);
      return inSystem((ctx) => endBackup(ctx, { backupId, ...result }));
    };
    const failed: BackupResult = { state: 'failed', failure: 'The disk is full.' };
    expect(await end(failed)).toEqual({ failure: 'The disk is full.', recipients: [] });
    await setUp();
    expect(await end(failed)).toBeNull();
    expect(await end(made)).toBeNull();
    const recipients = [{ to: 'owner@acme.example.test', organizationSlug: world.organizationSlug }];
    expect(await end(failed)).toEqual({ failure: 'The disk is full.', recipients });
    expect(await end(failed)).toBeNull();
  });

  test('a failed, an interrupted or a missing backup is a warning, until one succeeds', async () => {
    expect(await warnings()).toEqual([]);
    await sweep();
    await finish({ state: 'failed', failure: 'The disk is full.' });
    expect(await warnings()).toEqual(['backup_failed']);
    expect(await warnings(null)).toEqual([]);
    world.clock.forward(hour);
    await sweep();
    expect(await warnings()).toEqual(['backup_failed']);
    await finish(made);
    expect(await warnings()).toEqual([]);
    world.clock.forward(2 * hour);
    expect(await warnings()).toEqual([]);
    world.clock.forward(1);
    expect(await warnings()).toEqual(['backup_overdue']);
  });

  test('the page gets the latest backups, the last good one and the next time', async () => {
    await sweep();
    await finish(made);
    world.clock.forward(hour);
    await sweep();
    await finish({ state: 'failed', failure: 'x'.repeat(2000) });
    const seen = await inSystem((ctx) => listBackups(ctx, { folder: '/b', schedule: hourly, keep: 2 }));
    expect(seen).toMatchObject({
      folder: '/b',
      keep: 2,
      next: nextSlot(hourly, world.clock.now()),
      latest: [
        { state: 'failed', isScheduled: true, sizeBytes: null },
        { state: 'succeeded', sizeBytes: 3 },
      ],
      lastSucceeded: { state: 'succeeded', dataFile: '/b/1.data.age' },
    });
    expect(seen.latest[0]?.failure?.length).toBeLessThanOrEqual(500);
  });

  test('no backup starts on a disk without room for a copy of the database', async () => {
    const find = (dataDir: string) => inSystem((ctx) => findBackupObstacle(ctx, { dataDir, freeBytesMin: 0 }));
    // The file system /proc has no free bytes.
    expect(await find('/proc')).toMatch(/^The disk of \/proc has no room for a copy of the database: [\d,]+ MiB/);
    expect(await find(tmpdir())).toBeNull();
  });
});
