// Tests of the removal of a server, by the real agent: on request of the control plane, and by hand on a machine that the
// control plane has given up. Nothing of an agent stays but volumes, and other agents on the machine notice nothing.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { drainServer } from '@fairlead/core/placement';
import { deleteServer, uninstallServer } from '@fairlead/core/server';
import { moveApps } from '@fairlead/core/volume-move';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandResult, run } from '../../tools/lib/command.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { volumeApp } from './harness/apps.ts';
import { AGENT_BINARY } from './harness/assemble.ts';
import { type Fleet, type FleetServer, openFleet } from './harness/fleet.ts';
import { System } from './harness/system.ts';

const HOST = 'notes.localhost';
const SOON = { timeoutMs: 60_000, everyMs: 250 };
const live = { state: 'live', failureMessage: null };

let system: System;
let fleet: Fleet;
let east: FleetServer;
let west: FleetServer;
let appId: Awaited<ReturnType<System['createAppWith']>>;

beforeAll(async () => {
  system = await System.start();
  fleet = await openFleet(system);
  const unattended = { stopAppsOnExit: false };
  east = await fleet.addServer('east', undefined, unattended);
  west = await fleet.addServer('west', undefined, unattended);
  const repository = await system.repositories.create('notes', volumeApp('notes'));
  const volumes = [{ name: 'notes', path: '/data' }];
  const url = fleet.repositoryUrl(repository.url);
  appId = await system.createAppWith('notes', { url }, { volumes }, east.id);
  expect(await system.deploy(appId)).toMatchObject(live);
}, 240_000);
afterAll(async () => {
  await fleet?.close();
  await system?.stop();
});

/** Tests act as the system. */
const isAllowed = async () => {};

/** Moves the app, whose data stays behind. */
async function move(from: FleetServer, to: FleetServer['id']): Promise<void> {
  const leave = { serverId: from.id, leaveVolumes: true };
  await system.asSystem((ctx) => drainServer(ctx, { ...leave, drained: true }, isAllowed));
  const { items } = await system.asSystem((ctx) => moveApps(ctx, { ...leave, targetServerId: to }, isAllowed));
  const deploymentId = items[0]?.deploymentId ?? expect.fail('no app moved');
  expect(await system.waitForDeployment(deploymentId)).toMatchObject(live);
  const { apps } = await system.asSystem((ctx) => drainServer(ctx, { ...leave, drained: true }, isAllowed));
  expect(apps).toEqual([]);
}

const isListed = async (name: string) => (await system.servers()).some((server) => server.name === name);
const namespaceOf = ({ namespace }: FleetServer) => basename(namespace.prefix[1] ?? '');

function inside({ namespace }: FleetServer, ...words: readonly string[]): Promise<CommandResult> {
  const [program = '', ...args] = [...namespace.prefix, ...words];
  return run(program, args);
}

const uninstallBy = (server: FleetServer, ...options: readonly string[]) =>
  inside(server, AGENT_BINARY, 'uninstall', '--data', server.folder, ...options);

/** Processes that run in the server's namespace or name its data folder. */
async function processesOf(server: FleetServer): Promise<string[]> {
  const { stdout } = await run('ip', ['netns', 'pids', namespaceOf(server)]);
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const named = all.filter((pid) => commandOf(pid).includes(`${server.folder}/`));
  return [...stdout.split('\n').filter((pid) => pid !== ''), ...named].map((pid) => `${pid} ${commandOf(pid)}`);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}

/** Number that names the firewall table and control groups of a data folder (FNV-1a). */
function fingerprint(folder: string): string {
  const step = (hash: bigint, byte: number) => BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return [...Buffer.from(folder)].reduce(step, 0xcbf29ce484222325n).toString(16).padStart(16, '0');
}

async function groupsOf({ folder }: FleetServer): Promise<string[]> {
  const { stdout } = await run('find', ['/sys/fs/cgroup', '-type', 'd', '-name', `fairlead-${fingerprint(folder)}`]);
  return stdout.split('\n').filter((path) => path !== '');
}

async function tablesOf(server: FleetServer): Promise<string> {
  return (await inside(server, 'nft', 'list', 'tables')).stdout;
}

/** Everything that an agent leaves on a machine outside of its data folder. */
async function expectGone(server: FleetServer): Promise<void> {
  expect(await groupsOf(server)).toEqual([]);
  expect(await tablesOf(server)).not.toContain('fairlead_');
  const { stdout: links } = await inside(server, 'ip', '-o', 'link');
  expect(links).not.toContain(`fl${fingerprint(server.folder).slice(-4)}`);
  for (const memory of ['/run', '/dev/shm']) {
    expect(existsSync(join(memory, `fairlead-${fingerprint(server.folder)}`))).toBe(false);
  }
}

test('a server is removed: its agent leaves nothing but volumes, and other agents notice nothing', async () => {
  expect((await east.get(HOST, '/write?remember')).body).toBe('notes: remember');
  await move(east, west.id);
  expect((await west.get(HOST)).body).toBe('notes: ');
  expect(await groupsOf(east)).not.toEqual([]);
  expect(await tablesOf(east)).toContain('fairlead_');
  const neighbours = [await groupsOf(west), await tablesOf(west)];

  const input = { serverId: east.id, confirmName: 'east', withData: false };
  await system.asSystem((ctx) => uninstallServer(ctx, input));
  await waitFor(async () => !(await isListed('east')), { what: 'the end of the server', ...SOON });
  // The test's own supervisor starts the program again, which ends at once: it belongs to no control plane.
  await waitFor(() => !existsSync(join(east.folder, 'agent.toml')), { what: 'the end of its identity', ...SOON });
  await east.stopAgent();
  await waitFor(async () => (await processesOf(east)).length === 0, { what: 'the end of its processes', ...SOON });
  expect(readdirSync(east.folder)).toEqual(['volumes']);
  const [volume = ''] = readdirSync(join(east.folder, 'volumes'));
  expect(readFileSync(join(east.folder, 'volumes', volume, 'notes/text'), 'utf8')).toBe('remember');
  await expectGone(east);

  expect((await west.get(HOST)).body).toBe('notes: ');
  expect([await groupsOf(west), await tablesOf(west)]).toEqual(neighbours);
  const again = await uninstallBy(east, '--with-data');
  expect([again.code, existsSync(east.folder)], again.output).toEqual([0, false]);
});

test('a server that is lost is deleted, and a command on it removes its agent with all data', async () => {
  const { id: local } = await system.server();
  await west.namespace.cut();
  const isLost = async () => (await west.summary()).state === 'offline';
  await waitFor(isLost, { what: 'the loss of the server', timeoutMs: 120_000, everyMs: 250 });
  const input = { serverId: west.id, confirmName: 'west' };
  const uninstalled = system.asSystem((ctx) => uninstallServer(ctx, { ...input, withData: false }));
  await expect(uninstalled).rejects.toMatchObject({ code: 'server.in_use' });
  await move(west, local);
  expect((await system.get('notes')).body).toBe('notes: ');
  await system.asSystem((ctx) => deleteServer(ctx, input));

  // It does not come back under its identity, and serves on until a person removes it.
  await west.namespace.mend();
  expect(await west.getInside(HOST)).toBe('notes: ');
  expect(await isListed('west')).toBe(false);
  const refused = await uninstallBy(west);
  expect([refused.code, refused.output]).toEqual([1, expect.stringContaining('an agent runs already')]);
  expect(await west.getInside(HOST)).toBe('notes: ');

  await west.stopAgent();
  expect(await west.getInside(HOST)).toBe('notes: ');
  for (const _ of ['first', 'repeated']) {
    const { code, output } = await uninstallBy(west, '--with-data');
    expect([code, output]).toEqual([0, expect.stringContaining('nothing of it is left')]);
    expect(existsSync(west.folder)).toBe(false);
  }
  expect(await processesOf(west)).toEqual([]);
  await expectGone(west);
  expect((await system.get('notes')).body).toBe('notes: ');
});

test('a folder that no agent made is refused', async () => {
  const { code, output } = await run(AGENT_BINARY, ['uninstall', '--data', system.dataFolder]);
  expect([code, output]).toEqual([1, expect.stringContaining('is not the data folder of an agent')]);
  expect(existsSync(system.dataFolder)).toBe(true);
});
