import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '@fairlead/core/kernel';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSigningKeys } from './open-signing-keys.ts';

let db: TestDatabase;
let dir: string;
const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
beforeEach(async () => {
  db = await testDatabase();
  dir = await mkdtemp(join(tmpdir(), 'fairlead-keys-'));
});
afterEach(async () => {
  await db.drop();
  await rm(dir, { recursive: true });
});

const open = () => openSigningKeys(db.database, dir, log);

test('the first start creates one key file that only its user can read; the next start loads it', async () => {
  const first = await open();
  const [name, ...others] = await readdir(dir);
  expect(others).toEqual([]);
  expect((await stat(join(dir, name ?? ''))).mode & 0o777).toBe(0o600);
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
  const second = await open();
  expect(second.key.keyId).toBe(first.key.keyId);
  expect(second.pinnedKeys).toEqual(first.pinnedKeys);
});

test('a key that others could read stops the start and is left as it was', async () => {
  const { key } = await open();
  const path = join(dir, `${key.keyId}.key`);
  for (const mode of [0o644, 0o640, 0o604]) {
    await chmod(path, mode);
    await expect(open()).rejects.toThrow(`${path} can be read by others`);
    expect((await stat(path)).mode & 0o777).toBe(mode);
  }
  await chmod(path, 0o600);
  expect((await open()).key.keyId).toBe(key.keyId);
});

test('the database never holds the private half', async () => {
  const { key } = await open();
  const seed = await readFile(join(dir, `${key.keyId}.key`));
  const rows = await db.database.system('test', (tx) => tx.signingKey.findMany());
  expect(rows.map((row) => Buffer.from(row.publicKey).equals(seed))).toEqual([false]);
});

test('a start without the key that agents trust is refused and creates no other', async () => {
  const { key } = await open();
  await rm(join(dir, `${key.keyId}.key`));
  await expect(open()).rejects.toThrow(`the signing key ${key.keyId} is not in ${dir}`);
  expect(await readdir(dir)).toEqual([]);
});

test('a file that is not the key it is named after is refused', async () => {
  const { key } = await open();
  await writeFile(join(dir, `${key.keyId}.key`), Buffer.alloc(32, 1));
  await expect(open()).rejects.toThrow('Restore that folder');
  await writeFile(join(dir, `${key.keyId}.key`), 'short');
  await expect(open()).rejects.toThrow('is not a signing key');
});

test('a new database beside an old folder uses the existing key', async () => {
  const { key } = await open();
  await db.database.system('test', (tx) => tx.signingKey.deleteMany());
  expect((await open()).key.keyId).toBe(key.keyId);
});
