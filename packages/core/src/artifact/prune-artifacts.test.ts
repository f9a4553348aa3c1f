// Tests for artifact pruning: it never deletes what a kept release or a running deployment needs.

import { WorkState } from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { cancelDeployment, createDeployment } from '../deployment/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { builtStatus, rolloutStatus, type TestWorld, testWorld } from '../testing/index.ts';
import { pruneArtifacts, recordArtifact } from './index.ts';

const dayMs = 24 * 60 * 60_000;
let db: TestDatabase;
let world: TestWorld;
let appId: ReturnType<typeof parseApp>;
const parseApp = (id: string) => parseId('app', id);

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const made = await world.createApp('Store', { host: 'store.example.test', deployNow: false });
  appId = parseApp(made.appId);
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { releasesKept: 1 } }));
});
afterAll(() => db.drop());

const digestOf = (letter: string) => `sha256:${letter.repeat(64)}`;
const store = (letter: string) =>
  world.system((ctx) =>
    recordArtifact(forOrganization(ctx, world.organizationId), {
      digest: digestOf(letter),
      kind: 'build',
      sizeBytes: 9,
    }),
  );
async function build(letter: string): Promise<string> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  await store(letter);
  await world.report({ builds: [builtStatus(deploymentId, { digest: digestOf(letter) })] });
  return deploymentId;
}
async function deploy(letter: string): Promise<void> {
  const deploymentId = await build(letter);
  await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
}
const prune = async () => (await world.system(pruneArtifacts)).map(({ hex }) => hex[0]).sort();
const held = async () => {
  const rows = await world.system(({ tx }) => tx.artifact.findMany({ orderBy: { digest: 'asc' } }));
  return rows.map(({ digest }) => digest.at(-1));
};

test('an artifact that no kept release needs is deleted a day after its last use, and not before', async () => {
  for (const letter of ['a', 'b', 'c']) await deploy(letter);
  // Artifact of a build that never became a release.
  await store('f');
  expect(await prune()).toEqual([]);
  world.clock.forward(dayMs - 1000);
  expect(await prune()).toEqual([]);
  world.clock.forward(2000);
  expect(await prune()).toEqual(['a', 'f']);
  expect(await held()).toEqual(['b', 'c']);
});

test('an artifact that is needed again within the grace stays, and its grace restarts', async () => {
  await store('d');
  expect(await prune()).toEqual([]);
  world.clock.forward(dayMs - 1000);
  // Uploads it again: another build made the same artifact.
  await store('d');
  world.clock.forward(2000);
  expect(await prune()).toEqual([]);
  world.clock.forward(dayMs + 1000);
  expect(await prune()).toEqual(['d']);
});

test('an upload stays as long as its deployment waits or runs, for any time', async () => {
  await store('e');
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  const uploadDigest = digestOf('e');
  await world.system(({ tx }) => tx.deployment.update({ where: { id: deploymentId }, data: { uploadDigest } }));
  for (let day = 0; day < 3; day += 1) {
    expect(await prune()).toEqual([]);
    world.clock.forward(dayMs + 1000);
  }
  await world.tenant((ctx) => cancelDeployment(ctx, { deploymentId }));
  expect(await prune()).toEqual([]);
  world.clock.forward(dayMs + 1000);
  expect(await prune()).toEqual(['e']);
});

test('each organization loses only its own unneeded artifacts, even if another needs the same', async () => {
  const other = await testWorld(db.database, 'other', world.clock);
  await other.system((ctx) =>
    recordArtifact(forOrganization(ctx, other.organizationId), { digest: digestOf('c'), kind: 'build', sizeBytes: 9 }),
  );
  await prune();
  world.clock.forward(dayMs + 1000);
  const gone = await world.system(pruneArtifacts);
  expect(gone).toEqual([{ organizationId: other.organizationId, hex: 'c'.repeat(64) }]);
  expect(await held()).toContain('c');
});
