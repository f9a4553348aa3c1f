import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signedRelease, type TestWorld, testWorld } from '../testing/index.ts';
import {
  checkFeed,
  findAvailableUpdate,
  getUpdate,
  isUpdateCheckDue,
  recordUpdateCheck,
  startUpdateInputSchema,
  type UpdateFacts,
} from './index.ts';
import { readLastUpdate, writeUpdateRequest } from './updater.ts';
import { isNewer } from './versions.ts';

let db: TestDatabase;
let world: TestWorld;
let folder: string;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  folder = mkdtempSync(join(tmpdir(), 'fairlead-updater-'));
  mkdirSync(join(folder, 'requests'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await db.drop();
});

describe('the feed', () => {
  test('offers a release that any of the pinned keys has signed', async () => {
    const { read, publicKey } = signedRelease({ version: '0.2.0' });
    const other = signedRelease({ version: '0.2.0' }).publicKey;
    expect(await checkFeed(read, [other, publicKey])).toEqual({
      release: {
        version: '0.2.0',
        releasedAt: new Date('2026-11-26T12:00:00Z'),
        changelog: '### Added\n\n- A button.',
      },
      failure: null,
    });
  });

  test.each([
    ['SHA256SUMS', (text: string) => text.replace('0', '1'), 'The signature of SHA256SUMS is wrong'],
    ['SHA256SUMS.minisig', (text: string) => text.replace('0.2.0', '9.2.0'), 'The signature of SHA256SUMS is wrong'],
    ['SHA256SUMS.minisig', () => '', 'The signature of SHA256SUMS is wrong'],
    [
      'fairlead-0.2.0.json',
      (text: string) => text.replace('button', 'trap'),
      'does not have the digest that was signed',
    ],
  ])('refuses a changed %s', async (name, change, failure) => {
    const { files, read, publicKey } = signedRelease({ version: '0.2.0' });
    files.set(name, change(files.get(name) ?? ''));
    expect(await checkFeed(read, [publicKey])).toEqual({ release: null, failure: expect.stringContaining(failure) });
  });

  test('refuses another key, a signature of another file, and a version that is none', async () => {
    const failure = async ({ read, publicKey }: ReturnType<typeof signedRelease>, key = publicKey) =>
      (await checkFeed(read, [key])).failure;
    const other = signedRelease({ version: '0.2.0' }).publicKey;
    expect(await failure(signedRelease({ version: '0.2.0' }), other)).toContain('is wrong');
    const agent = 'fairlead 0.2.0 fairlead-agent-0.2.0-linux-x64';
    expect(await failure(signedRelease({ version: '0.2.0', comment: agent }))).toContain('names no version');
    expect(await failure(signedRelease({ version: '../2' }))).toContain('names no version');
    const missing = signedRelease({ version: '0.2.0' });
    missing.files.delete('fairlead-0.2.0.json');
    expect(await failure(missing)).toBe('There is no fairlead-0.2.0.json.');
  });
});

test('versions have the order of releases, and bad ones are refused', () => {
  const ordered = ['0.1.0-rc.1', '0.1.0-rc.2', '0.1.0-rc.10', '0.1.0', '0.1.0.1', '0.1.1', '0.2.0', '0.10.0', '1.0.0'];
  for (const [at, version] of ordered.entries())
    for (const [other, than] of ordered.entries())
      expect(isNewer(version, than), `${version} ${than}`).toBe(at > other);
  for (const version of ['../1.0.0', '1.0.0/..', '1.0.0 --yes', '1.0.0\n', '-1', 'v1', '1..0', '', '1'.repeat(41)])
    expect(startUpdateInputSchema.safeParse({ version }).success, version).toBe(false);
});

test('a check is due once a day, and a failed one keeps what an earlier one found', async () => {
  const { read, publicKey } = signedRelease({ version: '0.2.0' });
  const check = (keys: readonly string[]) =>
    world.system(async (ctx) => recordUpdateCheck(ctx, await checkFeed(read, keys)));
  const isDue = () => world.system(isUpdateCheckDue);
  const available = (current: string, feed: string | null = '/feed') =>
    world.system((ctx) => findAvailableUpdate(ctx, { current, feed }));
  expect(await isDue()).toBe(true);
  await check([publicKey]);
  expect(await isDue()).toBe(false);
  expect(await available('0.1.0')).toMatchObject({ version: '0.2.0' });
  expect(await available('0.2.0')).toBeNull();
  expect(await available('0.1.0', null)).toBeNull();
  world.clock.forward(24 * 60 * 60_000);
  expect(await isDue()).toBe(true);
  await check([]);
  expect(await available('0.1.0')).toMatchObject({ version: '0.2.0' });
  const facts: UpdateFacts = {
    current: '0.1.0',
    feed: '/feed',
    readFeedFile: read,
    publicKeys: [publicKey],
    updaterFolder: null,
  };
  const view = (more: Partial<UpdateFacts>) => world.system((ctx) => getUpdate(ctx, { ...facts, ...more }));
  expect(await view({})).toMatchObject({
    method: 'command',
    checkFailure: 'The signature of SHA256SUMS is wrong, so the release was ignored.',
    available: { version: '0.2.0' },
    last: null,
  });
  expect((await view({ publicKeys: [] })).method).toBe('clone');
  expect((await view({ updaterFolder: folder })).method).toBe('button');
});

test('one request waits at a time, and follows no link', async () => {
  const requests = join(folder, 'requests');
  expect(await writeUpdateRequest(folder, '0.2.0')).toBe(true);
  expect(await writeUpdateRequest(folder, '0.3.0')).toBe(false);
  expect(readdirSync(requests)).toEqual(['request']);
  expect(readFileSync(join(requests, 'request'), 'utf8')).toBe('0.2.0\n');
  rmSync(join(requests, 'request'));
  symlinkSync(join(folder, 'elsewhere'), join(requests, 'request'));
  expect(await writeUpdateRequest(folder, '0.2.0')).toBe(false);
  expect(readdirSync(folder)).toEqual(['requests']);
});

test('the state of the updater is read, and one that fell silent counts as interrupted', async () => {
  const now = new Date();
  expect(await readLastUpdate(folder, now)).toBeNull();
  writeFileSync(
    join(folder, 'state'),
    'from 0.1.0\nto 0.2.0\nstate running\nstep start\nstarted_at 2026-11-26T12:00:00Z\n',
  );
  writeFileSync(join(folder, 'log'), `${Array.from({ length: 60 }, (_, at) => `line ${at}`).join('\n')}\n`);
  const last = await readLastUpdate(folder, now);
  expect(last).toMatchObject({ from: '0.1.0', to: '0.2.0', state: 'running', step: 'start', finishedAt: null });
  expect([last?.log.length, last?.log.at(-1)]).toEqual([40, 'line 59']);
  const later = new Date(now.getTime() + 21 * 60_000);
  expect((await readLastUpdate(folder, later))?.state).toBe('interrupted');
  writeFileSync(join(folder, 'state'), 'state rolled_back\nstep roll_back\nfinished_at 2026-11-26T12:01:00Z\n');
  expect(await readLastUpdate(folder, later)).toMatchObject({
    state: 'rolled_back',
    finishedAt: new Date('2026-11-26T12:01:00Z'),
  });
});
