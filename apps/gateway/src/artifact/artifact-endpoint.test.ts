// Tests of the artifact endpoint: the session token, resumed uploads, and access by organization.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@fairlead/contract/ids';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { insertOrganizationRows, type OrganizationRows } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing.ts';

let dir: string;
let gateway: TestGateway;
let token: string;
let bytes: Buffer;
let hex: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'fairlead-artifact-endpoint-'));
  gateway = await startTestGateway({ artifacts: createFolderArtifactStore(dir) });
  token = await connect(gateway.rows);
});
afterAll(async () => {
  await gateway.close();
  await rm(dir, { recursive: true });
});
beforeEach(async () => {
  bytes = randomBytes(100_000);
  hex = createHash('sha256').update(bytes).digest('hex');
  await setBuilding(true);
});

async function connect(rows: OrganizationRows) {
  const agent = await gateway.knownAgent(rows);
  const opened = await agent.connect(rows.serverId);
  return opened.welcome.transferToken;
}
async function setBuilding(building: boolean): Promise<void> {
  const { deploymentId, serverId } = gateway.rows;
  const data = building ? { state: 'building', buildServerId: serverId } : { state: 'live' };
  await gateway.system(({ tx }) => tx.deployment.update({ where: { id: deploymentId }, data }));
}
const release = (rows: OrganizationRows) =>
  gateway.system(({ tx }) =>
    tx.release.update({ where: { id: rows.releaseId }, data: { artifactDigest: `sha256:${hex}` } }),
  );

function ask(method: string, options: { headers?: Record<string, string>; body?: Buffer; as?: string } = {}) {
  return fetch(`${gateway.httpUrl}/agent/artifacts/${hex}`, {
    method,
    headers: {
      authorization: `Bearer ${options.as ?? token}`,
      'fairlead-deployment': gateway.rows.deploymentId,
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: new Uint8Array(options.body) }),
  });
}
const send = (from: number, to: number, body = bytes.subarray(from, to)) =>
  ask('PUT', { body, headers: { 'content-range': `bytes ${from}-${to - 1}/${bytes.length}` } });

test('an interrupted upload resumes, is accepted when its digest matches, and can be read in ranges', async () => {
  expect((await ask('HEAD')).status).toBe(404);
  const first = await send(0, 40_000);
  expect([first.status, first.headers.get('upload-offset')]).toEqual([202, '40000']);
  expect((await ask('HEAD')).headers.get('upload-offset')).toBe('40000');
  const wrong = await send(50_000, 100_000);
  expect([wrong.status, wrong.headers.get('upload-offset')]).toEqual([409, '40000']);
  expect((await send(40_000, 100_000)).status).toBe(201);
  const there = await ask('HEAD');
  expect([there.status, there.headers.get('content-length')]).toEqual([200, '100000']);
  const row = await gateway.system(({ tx }) => tx.artifact.findFirst({ where: { digest: `sha256:${hex}` } }));
  expect(row).toMatchObject({ organizationId: gateway.rows.organizationId, kind: 'build', sizeBytes: 100_000n });

  await setBuilding(false);
  // The bytes are stored, but no release refers to them: the read is refused.
  expect((await ask('GET')).status).toBe(404);
  await release(gateway.rows);
  expect(Buffer.from(await (await ask('GET')).arrayBuffer()).equals(bytes)).toBe(true);
  const rest = await ask('GET', { headers: { range: 'bytes=99990-' } });
  expect([rest.status, rest.headers.get('content-range')]).toEqual([206, 'bytes 99990-99999/100000']);
  expect(Buffer.from(await rest.arrayBuffer()).equals(bytes.subarray(99_990))).toBe(true);
  expect((await ask('GET', { headers: { range: 'bytes=100000-' } })).status).toBe(416);
});

test('an upload that does not match its digest is discarded', async () => {
  const other = Buffer.from(bytes);
  other[7] = (other[7] ?? 0) ^ 1;
  expect((await send(0, bytes.length, other)).status).toBe(422);
  expect((await ask('HEAD')).status).toBe(404);
  expect((await send(0, bytes.length)).status).toBe(201);
});

test('an artifact that is uploaded again counts as new, so that pruning spares it', async () => {
  expect((await ask('PUT', { body: bytes })).status).toBe(201);
  const path = join(dir, gateway.rows.organizationId, hex);
  await utimes(path, new Date(0), new Date(0));
  await gateway.system(({ tx }) => tx.artifact.deleteMany({ where: { digest: `sha256:${hex}` } }));
  expect((await ask('PUT', { body: bytes })).status).toBe(201);
  expect((await stat(path)).mtime.getTime()).toBeGreaterThan(0);
  expect(await gateway.system(({ tx }) => tx.artifact.count({ where: { digest: `sha256:${hex}` } }))).toBe(1);
});

test('a server without a build writes nothing, and no server reads artifacts of another organization', async () => {
  await setBuilding(false);
  expect((await send(0, bytes.length)).status).toBe(404);
  await setBuilding(true);
  expect((await send(0, bytes.length)).status).toBe(201);
  const theirs = await insertOrganizationRows(gateway.db.database, 'theirs');
  const stranger = await connect(theirs);
  expect((await ask('GET', { as: stranger })).status).toBe(404);
  // A server still has to upload the bytes itself if its release has the same digest.
  await release(theirs);
  expect((await ask('GET', { as: stranger })).status).toBe(404);
  expect((await ask('HEAD', { as: stranger })).status).toBe(404);
});

test('a build writes only the artifacts that it named, and a build of another server none', async () => {
  const digest = () =>
    gateway
      .system(({ tx }) => tx.deployment.findUniqueOrThrow({ where: { id: gateway.rows.deploymentId } }))
      .then(({ builtDigest }) => builtDigest);
  const unnamed = { headers: { 'fairlead-deployment': '' }, body: bytes };
  expect((await ask('PUT', unnamed)).status).toBe(404);
  const other = await insertOrganizationRows(gateway.db.database, 'other');
  const theirs = { headers: { 'fairlead-deployment': other.deploymentId }, body: bytes };
  expect((await ask('PUT', theirs)).status).toBe(404);
  // A read names no deployment.
  expect((await ask('GET')).status).toBe(404);
  expect(await digest()).not.toBe(`sha256:${hex}`);
  expect((await ask('PUT', { body: bytes })).status).toBe(201);
  expect(await digest()).toBe(`sha256:${hex}`);
});

test('an artifact that could not be uploaded during the build is accepted later from the server that made it', async () => {
  await setBuilding(false);
  expect((await ask('PUT', { body: bytes })).status).toBe(404);
  await gateway.system(({ tx }) =>
    tx.release.update({
      where: { id: gateway.rows.releaseId },
      data: { artifactDigest: `sha256:${hex}`, builtOnServerId: gateway.rows.serverId },
    }),
  );
  expect((await ask('PUT', { body: bytes })).status).toBe(201);
});

test('a snapshot is written only by the server that takes it, while it takes it', async () => {
  await setBuilding(false);
  const { organizationId, serverId, appId, environmentId } = gateway.rows;
  const taskId = newId('vtk');
  await gateway.system(async ({ tx }) => {
    const volume = await tx.volume.findFirstOrThrow({ where: { organizationId } });
    const row = { organizationId, volumeId: volume.id, appId, environmentId, serverId };
    await tx.volumeSnapshot.create({ data: { ...row, id: taskId, reason: 'manual' } });
  });
  const task = { headers: { 'fairlead-volume-task': taskId }, body: bytes };
  const theirs = await insertOrganizationRows(gateway.db.database, 'their-snapshots');
  expect((await ask('PUT', { ...task, as: await connect(theirs) })).status).toBe(404);
  expect((await ask('PUT', task)).status).toBe(201);
  const row = await gateway.system(({ tx }) => tx.artifact.findFirst({ where: { digest: `sha256:${hex}` } }));
  expect(row).toMatchObject({ organizationId, kind: 'volume', sizeBytes: 100_000n });
  expect((await ask('GET')).status).toBe(404);
  await gateway.system(({ tx }) => tx.volumeSnapshot.update({ where: { id: taskId }, data: { state: 'failed' } }));
  expect((await ask('PUT', task)).status).toBe(404);
});

test('only the token of the open session grants access', async () => {
  expect((await ask('HEAD', { as: 'a'.repeat(43) })).status).toBe(401);
  const old = token;
  const next = await connect(gateway.rows);
  expect((await ask('HEAD', { as: old })).status).toBe(401);
  expect((await ask('HEAD', { as: next })).status).toBe(404);
  token = next;
});
