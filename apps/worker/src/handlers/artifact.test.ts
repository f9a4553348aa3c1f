// Tests of artifact pruning, also against a server that uploads the artifact again at that moment.
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  type ArtifactKey,
  type ArtifactStore,
  createFolderArtifactStore,
  recordArtifact,
} from '@fairlead/core/artifact';
import { defaultBuildSlots } from '@fairlead/core/deployment';
import { forOrganization } from '@fairlead/core/kernel';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys } from '@fairlead/core/secret';
import { silentLog, type TestWorld, testWorld, testWrapper } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pruneArtifactsHandler } from './artifact.ts';
import { unusedGithub } from './github.testing.ts';
import { createOrganizationTurns } from './organization-turns.ts';
import { testAcme, testDns, testHostLookup } from './testing.ts';

const dayMs = 24 * 60 * 60_000;
let db: TestDatabase;
let world: TestWorld;
let dir: string;
let store: ArtifactStore;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  dir = await mkdtemp(join(tmpdir(), 'fairlead-worker-artifacts-'));
  store = createFolderArtifactStore(dir);
});
afterEach(async () => {
  await db.drop();
  await rm(dir, { recursive: true });
});

async function oldFile(content: string): Promise<ArtifactKey> {
  const { organizationId } = world;
  const added = await store.add(organizationId, Readable.from([Buffer.from(content)]));
  if (added.kind !== 'whole') throw new Error(added.kind);
  const longAgo = new Date(world.clock.now().getTime() - 3 * dayMs);
  await utimes(join(dir, organizationId, added.hex), longAgo, longAgo);
  return { organizationId, hex: added.hex };
}

const record = ({ hex }: ArtifactKey) =>
  world.system((ctx) =>
    recordArtifact(forOrganization(ctx, world.organizationId), {
      digest: `sha256:${hex}`,
      kind: 'build',
      sizeBytes: 1,
    }),
  );

/** Prunes; `meanwhile` runs after the worker decided to delete a file and before it deletes it. */
async function prune(meanwhile: (key: ArtifactKey) => Promise<unknown> = async () => {}): Promise<void> {
  const artifacts: ArtifactStore = {
    ...store,
    delete: async (key, before) => {
      await meanwhile(key);
      return store.delete(key, before);
    },
  };
  await pruneArtifactsHandler(
    {
      database: db.database,
      logs: createFolderLogStore('unused'),
      artifacts,
      workerId: 'one',
      secretKeys: createSecretKeys(testWrapper()),
      links: { localHttpsPort: 4443, localHttpPort: 4480 },
      github: unusedGithub,
      mailer: null,
      publicUrl: null,
      hostLookup: testHostLookup,
      acme: testAcme,
      dns: testDns,
      buildSlots: defaultBuildSlots,
      turns: createOrganizationTurns({ log: silentLog, stopping: new AbortController().signal }),
      backups: null,
      updates: null,
      stopping: new AbortController().signal,
      clock: world.clock,
      log: silentLog,
    },
    {},
  );
}

test('an old file without a row is deleted, and one that is uploaded again at that moment is kept', async () => {
  const orphan = await oldFile('orphan');
  await prune();
  expect(await store.size(orphan)).toBeNull();
  const again = await oldFile('again');
  // The gateway does this when it answers a PUT of an existing artifact.
  await prune(async (key) => {
    expect(await store.touch(key)).toBe(5);
    await record(key);
  });
  expect(await store.size(again)).toBe(5);
  // Without the touch, the row would refer to a deleted file.
  const untouched = await oldFile('untouched');
  await prune(record);
  expect(await store.size(untouched)).toBeNull();
  expect(await store.touch(untouched)).toBeNull();
});

test('a file whose row was just pruned is kept when it is uploaded again at that moment', async () => {
  const [kept, gone] = [await oldFile('kept'), await oldFile('gone')];
  for (const key of [kept, gone]) await record(key);
  const longAgo = new Date(world.clock.now().getTime() - 2 * dayMs);
  await world.system(({ tx }) => tx.artifact.updateMany({ data: { unneededSince: longAgo } }));
  await prune(async (key) => {
    if (key.hex !== kept.hex) return;
    await store.touch(key);
    await record(key);
  });
  expect(await store.size(kept)).toBe(4);
  expect(await store.size(gone)).toBeNull();
  const rows = await world.system(({ tx }) => tx.artifact.findMany({ select: { digest: true } }));
  expect(rows).toEqual([{ digest: `sha256:${kept.hex}` }]);
});
