// Tests of apps with volumes that move between two real servers: with a copy while both are connected, and from a scheduled
// snapshot when the server is lost.
import type { AppId } from '@fairlead/contract/ids';
import { updateConfig } from '@fairlead/core/app';
import type { SnapshotSchedule } from '@fairlead/core/config';
import { drainServer, getDrain } from '@fairlead/core/placement';
import { cancelMove, listMoves, type MoveState, moveApps, type VolumeMoveView } from '@fairlead/core/volume-move';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { volumeApp } from './harness/apps.ts';
import { type Fleet, type FleetServer, openFleet } from './harness/fleet.ts';
import { System } from './harness/system.ts';

const live = { state: 'live', failureMessage: null };
/** The API verifies rights; this test calls core. */
const isAllowed = () => Promise.resolve();

let system: System;
let fleet: Fleet;
let east: FleetServer;
let west: FleetServer;

beforeAll(async () => {
  system = await System.start();
  fleet = await openFleet(system);
  east = await fleet.addServer('east');
  west = await fleet.addServer('west');
}, 180_000);
afterAll(async () => {
  await fleet?.close();
  await system?.stop();
});

const hostOf = (slug: string) => `${slug}.localhost`;
const drain = (server: FleetServer, drained = true) =>
  system.asSystem((ctx) => drainServer(ctx, { serverId: server.id, drained }, isAllowed));
const move = (from: FleetServer, to: FleetServer) =>
  system.asSystem((ctx) => moveApps(ctx, { serverId: from.id, targetServerId: to.id, copyVolumes: true }, isAllowed));
const lastMove = async (from: FleetServer): Promise<VolumeMoveView | undefined> =>
  (await system.asSystem((ctx) => listMoves(ctx, { serverId: from.id }))).items[0];
const inState = (from: FleetServer, state: MoveState) =>
  waitFor(async () => (await lastMove(from))?.state === state || undefined, {
    what: `a move that is ${state}`,
    timeoutMs: 120_000,
  });
/** Waits for the end of the last move from a server. */
const ended = (from: FleetServer) =>
  waitFor(
    async () => {
      const last = await lastMove(from);
      return last?.finishedAt == null ? undefined : last;
    },
    { what: 'the end of the move', timeoutMs: 120_000 },
  );
const answers = (server: FleetServer, slug: string, text: string) =>
  waitFor(
    () =>
      server.get(hostOf(slug)).then(
        ({ body }) => body === text || undefined,
        () => undefined,
      ),
    { what: `${text} on ${server.name}`, timeoutMs: 60_000 },
  );

const mounts = (snapshots: SnapshotSchedule) => [{ name: 'notes', path: '/data', snapshots }];

async function deployNotes(slug: string): Promise<AppId> {
  const repository = await system.repositories.create(slug, volumeApp(slug));
  const source = { url: fleet.repositoryUrl(repository.url) };
  const appId = await system.createAppWith(slug, source, { volumes: mounts('off') }, east.id);
  expect(await system.deploy(appId)).toMatchObject(live);
  return appId;
}

test('an app moves to another server with its volume, and a cancelled move brings it back', {
  timeout: 400_000,
}, async () => {
  await deployNotes('kept');
  expect((await east.get(hostOf('kept'), '/write?remember')).body).toBe('kept: remember');
  await drain(east);

  // The target can't restore, so the app is away until the move is cancelled.
  await west.namespace.cut();
  try {
    const [cancelled] = (await move(east, west)).items;
    if (cancelled?.moveId == null) throw new Error('a move was expected');
    const { moveId } = cancelled;
    await inState(east, 'restoring');
    await system.asSystem((ctx) => cancelMove(ctx, { moveId }));
    await answers(east, 'kept', 'kept: remember');
  } finally {
    await west.namespace.mend();
  }

  expect((await east.get(hostOf('kept'), '/write?again')).body).toBe('kept: again');
  expect((await move(east, west)).items).toHaveLength(1);
  expect(await ended(east)).toMatchObject({ state: 'succeeded', failureMessage: null, volumes: [{ name: 'notes' }] });
  await answers(west, 'kept', 'kept: again');
  expect((await system.asSystem((ctx) => getDrain(ctx, { serverId: east.id }))).apps).toEqual([]);
});

test('an app of a lost server starts elsewhere with the newest snapshot of its volume', {
  timeout: 400_000,
}, async () => {
  await drain(east, false);
  const appId = await deployNotes('stranded');
  expect((await east.get(hostOf('stranded'), '/write?precious')).body).toBe('stranded: precious');
  // The schedule counts without a deployment.
  await system.asSystem((ctx) => updateConfig(ctx, { appId, settings: { volumes: mounts('hourly') } }));
  const snapshotOf = async () => {
    const { apps } = await system.asSystem((ctx) => getDrain(ctx, { serverId: east.id }));
    return apps.find(({ slug }) => slug === 'stranded')?.volumes[0]?.snapshotAt ?? undefined;
  };
  await waitFor(snapshotOf, { what: 'the first snapshot', timeoutMs: 120_000 });
  await east.namespace.cut();
  try {
    const isLost = async () => (await east.summary()).state === 'offline';
    await waitFor(isLost, { what: 'the loss of the server', timeoutMs: 120_000 });
    await drain(east);
    expect((await move(east, west)).items).toHaveLength(1);
    expect(await ended(east)).toMatchObject({ state: 'succeeded', isFromSnapshots: true, failureMessage: null });
    await answers(west, 'stranded', 'stranded: precious');
  } finally {
    await east.namespace.mend();
  }
});
