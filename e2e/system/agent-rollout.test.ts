// Tests of the upgrade of all agents on three real servers: a bad program stops at the first server, and a good one
// reaches all in waves, without a lost request.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  type AgentRolloutView,
  cancelAgentRollout,
  getAgentRollout,
  retryAgentRollout,
  startAgentRollout,
} from '@fairlead/core/agent-rollout';
import type { AgentOffer } from '@fairlead/core/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { loaded } from './harness/apps.ts';
import { AGENT_BINARY } from './harness/assemble.ts';
import { type Fleet, openFleet } from './harness/fleet.ts';
import { System } from './harness/system.ts';

const ROLLOUT_TIMEOUT_MS = 300_000;
const digestOf = (program: Buffer) => `sha256:${createHash('sha256').update(program).digest('hex')}`;
const former = readFileSync(AGENT_BINARY);
// Bytes after the end of an ELF file are ignored: the program works as before but has another digest.
const good = Buffer.concat([former, Buffer.from('\n')]);
const bad = Buffer.from('#!/bin/sh\n[ "$1" = trial ] || exit 1\n');

let system: System;
let fleet: Fleet;

beforeAll(async () => {
  system = await System.start();
  fleet = await openFleet(system);
  for (const name of ['east', 'west']) await fleet.addServer(name);
  await waitFor(async () => new Set(Object.values(await digests())).size === 1, {
    what: 'the digests of all agents',
    timeoutMs: 60_000,
  });
}, 180_000);
afterAll(async () => {
  await fleet?.close();
  await system?.stop();
});

const digests = async () =>
  Object.fromEntries((await system.servers()).map(({ name, agentDigest }) => [name, agentDigest]));
const attempts = async () =>
  Object.fromEntries((await system.servers()).map(({ name, upgrade }) => [name, upgrade?.attempt ?? 0]));
const start = (offer: AgentOffer) => system.asSystem((ctx) => startAgentRollout(ctx, [offer]));

/** Returns the rollout at its end, and the sets of servers that were upgraded at the same time. */
async function ended(): Promise<AgentRolloutView & { readonly seen: readonly string[] }> {
  const seen = new Set<string>();
  const find = async () => {
    const { rollout } = await system.asSystem((ctx) => getAgentRollout(ctx, []));
    if (rollout === null) return undefined;
    const upgrading = rollout.servers.filter(({ progress }) => progress === 'upgrading').map(({ name }) => name);
    if (upgrading.length > 0) seen.add(`${rollout.wave}: ${upgrading.join()}`);
    return rollout.state === 'running' ? undefined : rollout;
  };
  const rollout = await waitFor(find, { what: 'the end of the rollout', timeoutMs: ROLLOUT_TIMEOUT_MS, everyMs: 100 });
  return { ...rollout, seen: [...seen] };
}

test('a bad program stops at the first server, and the others keep their agent', { timeout: 400_000 }, async () => {
  const { rolloutId } = await start(await system.offerAgent(bad));
  const stopped = await ended();
  expect(stopped).toMatchObject({ state: 'stopped', failedServer: 'east', wave: 1, waveCount: 3 });
  expect(stopped.reason).not.toBe('');
  expect(await attempts()).toEqual({ east: 1, west: 0, local: 0 });

  await system.asSystem((ctx) => retryAgentRollout(ctx, { rolloutId }));
  expect(await ended()).toMatchObject({ state: 'stopped', failedServer: 'east' });
  expect(await attempts()).toEqual({ east: 2, west: 0, local: 0 });
  await system.asSystem((ctx) => cancelAgentRollout(ctx, { rolloutId }));
  const old = digestOf(former);
  await waitFor(async () => Object.values(await digests()).every((digest) => digest === old), {
    what: 'the former agent on all servers',
    timeoutMs: 60_000,
  });
});

test('a good program reaches all servers in waves, and no request is lost', { timeout: 400_000 }, async () => {
  const repository = await system.repositories.create('steady', loaded('steady'));
  expect(await system.createApp('steady', repository)).toMatchObject({ state: 'live' });
  const load = system.load('steady');
  try {
    await load.more(5);
    await start(await system.offerAgent(good));
    const done = await ended();
    expect(done).toMatchObject({ state: 'succeeded', wave: 3, waveCount: 3, leftOut: [], failedServer: null });
    expect(done.servers.map(({ name, wave, progress }) => [name, wave, progress])).toEqual([
      ['east', 1, 'upgraded'],
      ['west', 2, 'upgraded'],
      ['local', 3, 'upgraded'],
    ]);
    expect(done.seen).toEqual(['1: east', '2: west', '3: local']);
    const wanted = digestOf(good);
    expect(await digests()).toEqual({ east: wanted, west: wanted, local: wanted });
    await load.more(5);
  } finally {
    await load.stop();
  }
  expect(load.result().failures).toEqual([]);
});
