// Tests of agent upgrades from the control plane on a real server: an upgrade loses no request, and a bad program is
// rolled back.
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { loaded } from './harness/apps.ts';
import { AGENT_BINARY } from './harness/assemble.ts';
import type { Load } from './harness/load.ts';
import { System } from './harness/system.ts';

let system: System;
let load: Load;
const digestOf = (program: Buffer) => `sha256:${createHash('sha256').update(program).digest('hex')}`;
const former = readFileSync(AGENT_BINARY);
// Bytes after the end of an ELF file are ignored: the program works as before but has another digest.
const other = Buffer.concat([former, Buffer.from('\n')]);

beforeAll(async () => {
  system = await System.start();
  const repository = await system.repositories.create('steady', loaded('steady'));
  expect(await system.createApp('steady', repository)).toMatchObject({ state: 'live' });
});
afterAll(() => system?.stop());

/** Resolves when the agent reports the digest. */
const running = (digest: string) =>
  waitFor(async () => (await system.server()).agentDigest === digest, {
    what: `an agent with the digest ${digest}`,
    timeoutMs: 60_000,
  });

/** Runs `work` under all kinds of load; no request may fail, and the instance must stay the same. */
async function withoutLostRequests(work: () => Promise<void>): Promise<void> {
  const pids = async () => (await system.app('steady')).instances.map(({ pid }) => pid);
  const before = await pids();
  load = system.load('steady');
  await load.more(5);
  await work();
  await load.more(5);
  expect((await load.stop()).failures).toEqual([]);
  expect(await pids()).toEqual(before);
}

test('another agent takes over in the same process with its proxy, unnoticed by visitors', async () => {
  await running(digestOf(former));
  const pid = system.agentPid;
  await withoutLostRequests(async () => {
    expect(await system.upgradeAgent(other)).toMatchObject({ state: 'succeeded', failureMessage: null });
    await running(digestOf(other));
    const hex = digestOf(other).slice('sha256:'.length);
    await waitFor(async () => basename(dirname(readlinkSync(`/proc/${await system.proxyPid()}/exe`))) === hex, {
      what: 'a proxy of the other agent',
      timeoutMs: 60_000,
    });
  });
  expect(system.agentPid).toBe(pid);
});

test('a program that exits at its start is rolled back with the reason, and so is one that fails its check', async () => {
  const pid = system.agentPid;
  await withoutLostRequests(async () => {
    const refused = await system.upgradeAgent(Buffer.from('#!/bin/sh\necho "no such luck" >&2\nexit 1\n'));
    expect(refused).toMatchObject({ state: 'failed', failureCode: 'upgrade.check_failed' });
    expect(refused.failureMessage).toContain('no such luck');
    const spoilt = await system.upgradeAgent(Buffer.from('#!/bin/sh\nexit 0\n'), (path) =>
      writeFileSync(path, '#!/bin/sh\nexit 1\n'),
    );
    expect(spoilt).toMatchObject({ state: 'failed', failureCode: 'upgrade.fetch_failed' });
    expect(system.agentPid, 'nothing was tried yet').toBe(pid);
    const crashed = await system.upgradeAgent(Buffer.from('#!/bin/sh\n[ "$1" = trial ] || exit 1\n'));
    expect(crashed).toMatchObject({ state: 'failed', failureCode: 'upgrade.crashed' });
    await running(digestOf(other));
  });
});
