// Bounds of the artifact store: an organization's quota, and the clean-up of broken uploads.
import { mkdtemp, readdir, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { forOrganization } from '../kernel/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { createFolderArtifactStore, findOrphans, recordArtifact, type StoredFile } from './index.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'fairlead-artifacts-'));
  return () => rm(dir, { recursive: true });
});

const organizationId = newId('org');
async function* bytes(size: number, fill = 1): AsyncGenerator<Uint8Array, void> {
  for (let left = size; left > 0; left -= 100) yield new Uint8Array(Math.min(100, left)).fill(fill);
}
const storedBytes = async () => {
  const names = await readdir(join(dir, organizationId));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(dir, organizationId, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
};
const files = async () => (await readdir(join(dir, organizationId))).length;

test('an organization stores no more than its quota, in any number of uploads, and nothing of a refused one', async () => {
  const store = createFolderArtifactStore(dir, { organizationBytesMax: 1000, freeBytesMin: 0 });
  expect((await store.add(organizationId, bytes(600, 1))).kind).toBe('whole');
  expect(await store.add(organizationId, bytes(600, 2))).toEqual({ kind: 'no_room' });
  expect(await files()).toBe(1);
  const key = { organizationId, hex: 'a'.repeat(64) };
  expect(await store.append(key, 'srv_a', { offset: 0, bytes: bytes(600), totalBytes: 600 })).toEqual({
    kind: 'no_room',
  });
  // Another organization has its own quota, and this one has space again after a deletion.
  expect((await store.add(newId('org'), bytes(600, 2))).kind).toBe('whole');
  await store.deleteAll(organizationId);
  expect((await store.add(organizationId, bytes(600, 2))).kind).toBe('whole');
});

test('concurrent uploads share the quota of their organization', async () => {
  const store = createFolderArtifactStore(dir, { organizationBytesMax: 1000, freeBytesMin: 0, uploadsMax: 40 });
  const key = (fill: number) => ({ organizationId, hex: `${fill}`.padStart(64, 'a') });
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, fill) =>
      fill % 2 === 0
        ? store.add(organizationId, bytes(600, fill))
        : store.append(key(fill), 'srv_a', { offset: 0, bytes: bytes(600, fill), totalBytes: 900 }),
    ),
  );
  expect(results.filter(({ kind }) => kind === 'no_room').length).toBeGreaterThanOrEqual(39);
  expect(await storedBytes()).toBeLessThanOrEqual(1000);
  await store.deleteAll(organizationId);
  expect((await store.add(organizationId, bytes(1000))).kind).toBe('whole');
});

test('an organization has a limit of concurrent uploads, and the next begins once one has ended', async () => {
  const store = createFolderArtifactStore(dir, { uploadsMax: 2 });
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = gates.map(async ({ promise }, fill) => {
    async function* source() {
      await promise;
      yield* bytes(100, fill);
    }
    return store.add(organizationId, source());
  });
  expect(await store.add(organizationId, bytes(100, 9))).toEqual({ kind: 'busy' });
  const key = { organizationId, hex: 'a'.repeat(64) };
  expect(await store.append(key, 'srv_a', { offset: 0, bytes: bytes(1), totalBytes: 2 })).toEqual({ kind: 'busy' });
  expect((await store.add(newId('org'), bytes(100))).kind).toBe('whole');
  gates[0]?.resolve();
  expect((await slow[0])?.kind).toBe('whole');
  expect((await store.add(organizationId, bytes(100, 9))).kind).toBe('whole');
  gates[1]?.resolve();
  expect((await slow[1])?.kind).toBe('whole');
});

test('an organization has so many files, those that never got a byte included', async () => {
  const store = createFolderArtifactStore(dir, { organizationFilesMax: 3 });
  const begin = (at: number) =>
    store.append({ organizationId, hex: `${at}`.padStart(64, 'a') }, 'srv_a', {
      offset: 0,
      bytes: bytes(0),
      totalBytes: 10,
    });
  const results = await Promise.all(Array.from({ length: 6 }, (_, at) => begin(at)));
  expect(results.filter(({ kind }) => kind === 'partial')).toHaveLength(3);
  expect(results.filter(({ kind }) => kind === 'no_room')).toHaveLength(3);
  expect(await files()).toBe(3);
  expect(await store.add(organizationId, bytes(100))).toEqual({ kind: 'no_room' });
});

let db: TestDatabase;
let world: TestWorld;
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

test('a file without a row is an orphan once the grace has passed, also of a deleted organization', async () => {
  const store = createFolderArtifactStore(dir);
  const ids = [world.organizationId, organizationId];
  const hexes: string[] = [];
  for (const [fill, id] of [ids[0], ids[0], ids[1]].entries()) {
    const added = await store.add(id ?? '', bytes(100, fill));
    if (added.kind === 'whole') hexes.push(added.hex);
  }
  const [kept = '', lost, gone] = hexes;
  await world.system((ctx) =>
    recordArtifact(forOrganization(ctx, world.organizationId), {
      digest: `sha256:${kept}`,
      kind: 'upload',
      sizeBytes: 100,
    }),
  );
  const orphans = async () => {
    const stored: StoredFile[] = [];
    for await (const file of store.list()) stored.push(file);
    return (await world.system((ctx) => findOrphans(ctx, stored))).map(({ hex }) => hex).sort();
  };
  expect(await orphans()).toEqual([]);
  const longAgo = new Date(world.clock.now().getTime() - 25 * 60 * 60_000);
  for await (const { organizationId: of, hex } of store.list()) await utimes(join(dir, of, hex), longAgo, longAgo);
  expect(await orphans()).toEqual([lost, gone].sort());
});
