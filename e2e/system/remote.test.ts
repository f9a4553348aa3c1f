// Tests of a control plane for other machines: control plane, two servers and a visitor in networks of their own, which
// share nothing but a switch. Needs root.
import { createHash, X509Certificate } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADA, type Person } from '../../tools/lib/dashboard-client.ts';
import { type RunningProduct, startProduct } from '../../tools/lib/running-product.ts';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { AGENT_BINARY } from './harness/assemble.ts';
import { type ApiClient, curl, openClient, type Site, signInFrom } from './harness/machine-client.ts';
import { serveOnMachine } from './harness/machine-repository.ts';
import { type Machine, type Machines, openMachines } from './harness/machines.ts';
import type { Repositories } from './harness/repository.ts';
import { pasteEnrolment, type SecondServer } from './harness/second-server.ts';

const GRACE: Person = { name: 'Grace Example', email: 'grace@example.com', password: 'a boat sails home' };
const HOST = 'fairlead.example.test';
const ORGANIZATION = 'my-organization';
/** Default ports with a public URL; only the first two listen on more than loopback. */
const PORTS = { https: 443, http: 80, web: 4400, gateway: 4401, source: 4402, database: 24432 };
/** Address that a visitor claims to have. */
const FORGED = '203.0.113.66';

let folder: string;
/** Agent that the control plane offers to other servers. */
let offered: string;
let network: Machines<'control' | 'east' | 'west' | 'visitor'>;
let product: RunningProduct | undefined;
let owner: ApiClient;
let east: SecondServer;
const undo: Undo[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-remote-'));
  chmodSync(folder, 0o711);
  undo.push(async () => rmSync(folder, { recursive: true }));
  network = await openMachines({
    folder: join(folder, 'network'),
    names: ['control', 'east', 'west', 'visitor'],
    hosts: { control: HOST },
  });
  undo.push(() => network.close());
  offered = join(folder, 'offered-agent');
  copyFileSync(AGENT_BINARY, offered);
  undo.push(async () => product?.stop());
  await start(`https://${HOST}`);
}, 120_000);
afterAll(() => undoAll(undo));

async function start(publicUrl: string): Promise<void> {
  const data = join(folder, 'data');
  product = await startProduct({
    data,
    ports: PORTS,
    agent: AGENT_BINARY,
    prefix: network.machines.control.prefix,
    args: ['--data', data, '--public-url', publicUrl],
    env: { FAIRLEAD_AGENT_BINARY: offered },
  });
}

function running(): RunningProduct {
  if (product === undefined) throw new Error('nothing runs');
  return product;
}

/** Returns the control plane as a machine sees it that compared the fingerprint of the summary. */
async function siteOf(machine: Machine): Promise<Site> {
  const { url, summary } = running();
  const answer = await curl(machine, `${url}/install/ca.pem`, { flags: ['--insecure'] });
  const pem = await answer.text();
  expect(summary).toContain(`SHA-256 ${new X509Certificate(pem).fingerprint256}`);
  const caFile = join(folder, `${machine.name}-${new URL(url).hostname}.pem`);
  writeFileSync(caFile, pem);
  return { machine, url, caFile };
}

async function member(site: Site, person: Person, headers: Readonly<Record<string, string>> = {}): Promise<ApiClient> {
  const session = await signInFrom(site, person, headers);
  return openClient(site, { ...session, ...headers, 'x-fairlead-organization': ORGANIZATION });
}

async function online(name: string): Promise<void> {
  const find = async () => {
    const { items } = await owner.server.list.query();
    return items.some((server) => server.name === name && server.state === 'online');
  };
  await waitFor(find, { what: `the server ${name} online`, timeoutMs: 20_000, everyMs: 250 });
}

test('a visitor opens the dashboard over HTTPS by its name, and nothing else of the machine is reachable', async () => {
  const { visitor, control } = network.machines;
  const site = await siteOf(visitor);
  const page = await curl(visitor, `${site.url}/setup`, { caFile: site.caFile });
  expect([page.status, page.headers.get('strict-transport-security')]).toEqual([
    200,
    expect.stringContaining('max-age'),
  ]);
  // Only the authority of this host makes the connection trusted.
  await expect(curl(visitor, `${site.url}/sign-in`)).rejects.toThrow('certificate');
  const plain = await curl(visitor, `http://${HOST}/sign-in`);
  expect([plain.status, plain.headers.get('location')]).toEqual([308, `https://${HOST}/sign-in`]);
  for (const port of [PORTS.web, PORTS.gateway, PORTS.source, PORTS.database]) {
    await expect(curl(visitor, `http://${control.address}:${port}/`), String(port)).rejects.toThrow(
      'Failed to connect',
    );
  }

  const { setupToken } = running();
  if (setupToken === undefined) throw new Error('the summary names no token');
  expect(running().summary).toContain(`${site.url}/setup#token=`);
  await openClient(site, {}).setup.claim.mutate({ token: setupToken, ...ADA });
  owner = await member(site, ADA);
});

test('an invitation leads a colleague on another machine to the public URL', async () => {
  const { url } = await owner.invitation.create.mutate({ role: 'developer' });
  expect(url).toMatch(new RegExp(`^https://${HOST}/invitation#token=`));
  const site = await siteOf(network.machines.west);
  const [address = '', token = ''] = (url ?? '').split('#token=');
  expect((await curl(site.machine, address, { caFile: site.caFile })).status).toBe(200);
  await openClient(site, {}).invitation.claim.mutate({ token, ...GRACE });
  const grace = await member(site, GRACE);
  expect((await grace.session.me.query()).user.email).toBe(GRACE.email);
});

test('audit log, sessions and tokens see the visitor’s address, whatever header it sends', async () => {
  const { visitor, west, control } = network.machines;
  const site = await siteOf(visitor);
  const claims = { 'x-forwarded-for': FORGED, forwarded: `for=${FORGED}`, 'x-real-ip': FORGED };
  const forger = await member(site, ADA, claims);
  await forger.project.create.mutate({ name: 'forged' });
  const { items: events } = await owner.audit.list.query({ action: 'project.create' });
  expect(events.map(({ ip }) => ip)).toEqual([visitor.address]);
  const { items: sessions } = await owner.account.listSessions.query();
  expect(new Set(sessions.map(({ ip }) => ip))).toEqual(new Set([visitor.address]));

  const { token } = await owner.token.create.mutate({
    name: 'limited',
    permissions: ['server.read'],
    ipRanges: [visitor.address, FORGED],
  });
  const list = async (from: Machine, base: string, headers: Readonly<Record<string, string>> = {}) => {
    const all = { ...headers, authorization: `Bearer ${token}` };
    return (await curl(from, `${base}/api/v1/server/list`, { caFile: site.caFile, headers: all })).status;
  };
  expect(await list(visitor, site.url)).toBe(200);
  expect(await list(visitor, site.url, { 'x-forwarded-for': west.address })).toBe(200);
  expect(await list(west, site.url, claims)).toBe(403);
  // A program on the control machine can reach the TCP port, but not the proxy's socket.
  expect(await list(control, `http://127.0.0.1:${PORTS.web}`, claims)).toBe(403);
});

test('through the proxy nobody reaches the internal endpoints, even with their token', async () => {
  const { visitor, control } = network.machines;
  const site = await siteOf(visitor);
  const token = readFileSync(join(running().data, 'secrets/internal-token'), 'utf8').trim();
  const headers = { authorization: `Bearer ${token}` };
  const live = 'internal/live';
  const flags = ['--path-as-is'];
  for (const path of [
    `/${live}`,
    `/agent/${live}`,
    `/agent/../${live}`,
    `/agent/%2e%2e/${live}`,
    `/agent//../${live}`,
    `/agent/..%2f${live}`,
    '/agent/healthz',
    '/agent/../internal/inspect',
  ]) {
    const { status } = await curl(visitor, `${site.url}${path}`, { caFile: site.caFile, headers, flags });
    expect(status, path).toBeGreaterThanOrEqual(400);
  }
  const statusOf = async (...flags: string[]) =>
    (await curl(control, `http://127.0.0.1:${PORTS.gateway}/${live}`, { headers, flags })).status;
  expect(await statusOf('--unix-socket', join(running().data, 'agent/control/gateway.sock'))).toBe(401);
  // The web process is let in, and told which parameters are missing.
  expect(await statusOf()).toBe(400);
});

test('another machine joins by the command of “Add server”, and comes back after a restart', async () => {
  const { command, caFingerprint } = await owner.server.enrol.mutate({ name: 'east' });
  expect(running().summary).toContain(`SHA-256 ${caFingerprint}`);
  east = await pasteEnrolment(command, join(folder, 'east'), network.machines.east);
  undo.push(() => east.stop());
  await online('east');
  const { items } = await owner.audit.list.query({ action: 'server.accept' });
  expect(items.find(({ target }) => target.label === 'east')?.ip).toBe(network.machines.east.address);
  await east.restart();
  await online('east');
});

test('an app that one server builds is deployed from there to the other, and a visitor reaches it on its address', async () => {
  const { east: machine, visitor } = network.machines;
  const served = join(folder, 'source');
  const site = (repositories: Repositories) => repositories.createExample('site', 'hello-static');
  const repositoryUrl = await serveOnMachine({ machine, folder: served, port: PORTS.source, create: site }, undo);
  const { items } = await owner.server.list.query();
  const serverIds = ['east', 'local'].map((name) => items.find((server) => server.name === name)?.id);
  const { deploymentId } = await owner.app.create.mutate({
    name: 'site',
    source: { kind: 'git', repositoryUrl },
    healthPath: '/',
    serverIds: serverIds.filter((id) => id !== undefined),
    domain: { host: 'site.localhost' },
    firstDeploy: 'deploy',
  });
  if (deploymentId === null) throw new Error('the app was created without a deployment');
  const end = await waitFor(
    async () => {
      const deployment = await owner.deployment.get.query({ deploymentId });
      return deployment.finishedAt === null ? undefined : deployment;
    },
    { what: 'the end of the deployment', timeoutMs: 60_000, everyMs: 250 },
  );
  expect([end.state, end.failureMessage]).toEqual(['live', null]);
  for (const [address, port, data] of [
    [machine.address, 8443, join(folder, 'east/.local/share/fairlead')],
    [network.machines.control.address, 443, join(running().data, 'agent')],
  ] as const) {
    const page = await curl(visitor, `https://site.localhost:${port}/`, {
      caFile: join(data, 'ca/ca.pem'),
      flags: ['--resolve', `site.localhost:${port}:${address}`],
    });
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Hello from files')]);
  }
});

test('the agent of another machine is upgraded over its link, and the app there stays up', async () => {
  const { east: machine, visitor } = network.machines;
  const find = async () => (await owner.server.list.query()).items.find(({ name }) => name === 'east');
  const before = await find();
  if (before === undefined) throw new Error('east is missing');
  // Bytes after the end of an ELF file are ignored: the program works as before but has another digest.
  copyFileSync(AGENT_BINARY, `${offered}.new`);
  appendFileSync(`${offered}.new`, '\n');
  renameSync(`${offered}.new`, offered);
  const digest = `sha256:${createHash('sha256').update(readFileSync(offered)).digest('hex')}`;
  expect(before.agentDigest).not.toBe(digest);
  await owner.server.upgrade.mutate({ serverId: before.id });
  const ended = await waitFor(
    async () => {
      const now = await find();
      return now?.upgrade == null || now.upgrade.state === 'running' ? undefined : now;
    },
    { what: 'the end of the upgrade', timeoutMs: 120_000, everyMs: 250 },
  );
  expect([ended.upgrade?.state, ended.upgrade?.failureMessage, ended.agentDigest]).toEqual(['succeeded', null, digest]);
  await online('east');
  const flags = ['--resolve', `site.localhost:8443:${machine.address}`];
  const caFile = join(folder, 'east/.local/share/fairlead/ca/ca.pem');
  expect((await curl(visitor, 'https://site.localhost:8443/', { caFile, flags })).status).toBe(200);
});

/** Files below a folder; undefined if one of its folders is removed meanwhile. */
function filesBelow(parent: string): readonly string[] | undefined {
  try {
    const entries = readdirSync(parent, { recursive: true, withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [] : [entry.name]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

test('a removed server leaves nothing on its machine', async () => {
  const { items } = await owner.server.list.query();
  const serverId = items.find(({ name }) => name === 'east')?.id ?? expect.fail('no server');
  const { apps } = await owner.server.drain.mutate({ serverId, drained: true });
  expect(apps).toEqual([]);
  await owner.server.uninstall.mutate({ serverId, confirmName: 'east', withData: true });
  const home = join(folder, 'east');
  const isEmpty = () => filesBelow(home)?.length === 0 && !existsSync(join(home, '.local/share/fairlead'));
  await waitFor(isEmpty, { what: 'a machine without an agent', timeoutMs: 30_000, everyMs: 250 });
  expect(existsSync(join(home, '.local/bin/fairlead-agent'))).toBe(false);
  const names = (await owner.server.list.query()).items.map(({ name }) => name);
  expect(names).not.toContain('east');
  await east.stop();
});

test.each([
  ['IPv4', 'address'],
  ['IPv6', 'address6'],
] as const)('the next start serves an %s address as well, for which clients name no host', async (family, field) => {
  await Promise.all([east.stop(), running().stop()]);
  const { visitor, west, control } = network.machines;
  await start(`https://${family === 'IPv6' ? `[${control[field]}]` : control[field]}`);
  const site = await siteOf(visitor);
  expect((await curl(visitor, `${site.url}/sign-in`, { caFile: site.caFile })).status).toBe(200);
  owner = await member(site, ADA);
  const name = `west-${family.toLowerCase()}`;
  const { command } = await owner.server.enrol.mutate({ name });
  const server = await pasteEnrolment(command, join(folder, name), west);
  undo.push(() => server.stop());
  await online(name);
  const { items } = await owner.audit.list.query({ action: 'server.accept' });
  expect(items.find(({ target }) => target.label === name)?.ip).toBe(west[field]);
  await server.stop();
});
