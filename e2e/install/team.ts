// Team that works with the installed control plane from machines of its own: owner, colleague, a second server and an app.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerId } from '@fairlead/contract/ids';
import { ADA, type Person } from '../../tools/lib/dashboard-client.ts';
import type { Undo } from '../../tools/lib/undo.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { respondingApp, volumeApp } from '../system/harness/apps.ts';
import { type ApiClient, curl, openClient, type Site, signInFrom } from '../system/harness/machine-client.ts';
import { serveOnMachine } from '../system/harness/machine-repository.ts';
import type { Machine } from '../system/harness/machines.ts';
import type { Files } from '../system/harness/repository.ts';
import { pasteEnrolment, type SecondServer } from '../system/harness/second-server.ts';
import type { Target } from './visits.ts';

const GRACE: Person = { name: 'Grace Example', email: 'grace@example.com', password: 'a boat sails home' };
const ORGANIZATION = 'my-organization';
const APP_HOST = 'site.localhost';
const ANSWER = 'Hello from a release';
const NOTES_HOST = 'notes.localhost';
const NOTE = 'precious';
const SOURCE_PORT = 4402;
/** Port of a proxy that does not run as root. */
const HIGH_HTTPS_PORT = 8443;
const ONLINE_TIMEOUT_MS = 60_000;
/** Each server must stay connected for a minute. */
const UPGRADE_TIMEOUT_MS = 10 * 60_000;
const UPDATE_TIMEOUT_MS = 5 * 60_000;
const DEPLOY_TIMEOUT_MS = 5 * 60_000;

interface NewApp {
  readonly name: string;
  readonly host: string;
  readonly files: Files;
  readonly volumes?: readonly { readonly name: string; readonly path: string }[];
}

export class Team {
  readonly #site: Site;
  readonly #folder: string;
  readonly #undo: Undo[];
  #owner: ApiClient | undefined;
  readonly #servers = new Map<string, SecondServer>();

  constructor(site: Site, folder: string, undo: Undo[]) {
    this.#site = site;
    this.#folder = folder;
    this.#undo = undo;
  }

  get #api(): ApiClient {
    if (this.#owner === undefined) throw new Error('nobody is signed in');
    return this.#owner;
  }

  async claim(token: string): Promise<void> {
    await openClient(this.#site, {}).setup.claim.mutate({ token, ...ADA });
    await this.signIn();
  }

  async signIn(): Promise<void> {
    this.#owner = await memberOf(this.#site, ADA);
  }

  /** Invites a colleague, who opens the link on another machine. */
  async invite(site: Site): Promise<string> {
    const { url } = await this.#api.invitation.create.mutate({ role: 'developer' });
    const [address = '', token = ''] = (url ?? '').split('#token=');
    const page = await curl(site.machine, address, { caFile: site.caFile });
    if (!address.startsWith(`${site.url}/`) || page.status !== 200)
      throw new Error(`the link ${address} answers ${page.status}`);
    await openClient(site, {}).invitation.claim.mutate({ token, ...GRACE });
    const grace = await memberOf(site, GRACE);
    return (await grace.session.me.query()).user.email;
  }

  /** Runs the command of "Add server" on a machine. */
  async addServer(machine: Machine): Promise<string> {
    const { command } = await this.#api.server.enrol.mutate({ name: machine.name });
    const server = await pasteEnrolment(command, join(this.#folder, machine.name), machine);
    this.#undo.push(() => server.stop());
    this.#servers.set(machine.name, server);
    await this.online(machine.name);
    return 'online';
  }

  /** Removes the agent of a machine by its own command; returns what it left in the machine's home folder. */
  async uninstallAgent(machine: Machine): Promise<readonly string[]> {
    await this.#servers.get(machine.name)?.uninstall();
    const files = readdirSync(join(this.#folder, machine.name), { recursive: true, encoding: 'utf8' });
    return files.filter((file) => /fairlead/.test(file));
  }

  async online(name: string): Promise<void> {
    const find = async () => {
      const { items } = await this.#api.server.list.query();
      return items.some((server) => server.name === name && server.state === 'online' && server.inSync);
    };
    await waitFor(find, { what: `the server ${name} online`, timeoutMs: ONLINE_TIMEOUT_MS, everyMs: 250 });
  }

  /** Upgrades the agents of all added servers in waves; returns which they were. */
  async upgradeAgents(): Promise<string> {
    await this.#api.agentRollout.start.mutate();
    const end = await this.#endOfRollout();
    if (end.state !== 'succeeded') throw new Error(`the upgrade is ${end.state}: ${end.reason}`);
    const upgraded = end.servers.filter(({ progress }) => progress === 'upgraded').map(({ name }) => name);
    return `${upgraded.join(', ')} in ${end.waveCount} waves`;
  }

  #endOfRollout() {
    return waitFor(
      async () => {
        const { rollout } = await this.#api.agentRollout.get.query();
        return rollout === null || rollout.state === 'running' ? undefined : rollout;
      },
      { what: 'the end of the upgrade', timeoutMs: UPGRADE_TIMEOUT_MS, everyMs: 1000 },
    );
  }

  /** Offers the servers another program, and returns why they refused it. */
  async failAgentUpgrade(): Promise<string> {
    await this.#api.agentRollout.start.mutate();
    const { state, reason } = await this.#endOfRollout();
    if (state === 'succeeded') throw new Error('the upgrade succeeded');
    return reason ?? '';
  }

  /** Makes a backup by the button of the dashboard; returns its size. */
  async backUp(): Promise<string> {
    await this.#api.controlPlane.startBackup.mutate();
    const find = async () => {
      const [last] = (await this.#api.controlPlane.get.query()).backups.latest;
      return last === undefined || last.finishedAt === null ? undefined : last;
    };
    const { state, failure, sizeBytes } = await waitFor(find, { what: 'a backup', timeoutMs: 60_000, everyMs: 250 });
    if (state !== 'succeeded') throw new Error(`the backup ${state}: ${failure}`);
    return `of ${sizeBytes} bytes`;
  }

  /** Installs a version by the button of the dashboard, and waits until it runs. */
  async update(version: string): Promise<void> {
    const { available, checkFailure } = await this.#api.controlPlane.checkUpdate.mutate();
    if (available?.version !== version) throw new Error(`the newest version is ${available?.version}: ${checkFailure}`);
    await this.#api.controlPlane.startUpdate.mutate({ version });
    const isDone = async () => {
      // The dashboard is away meanwhile.
      const page = await this.#api.controlPlane.get.query().catch(() => undefined);
      const last = page?.updates.last;
      if (last?.state === 'failed' || last?.state === 'rolled_back') throw new Error(last.log.join('\n'));
      return last?.state === 'succeeded' && page?.updates.current === version;
    };
    await waitFor(isDone, { what: `version ${version}`, timeoutMs: UPDATE_TIMEOUT_MS, everyMs: 500 });
  }

  /** Deploys an app that `machine` builds to these servers; returns how long it took. */
  async deploy(machine: Machine, names: readonly string[]): Promise<number> {
    const startedAt = performance.now();
    const serverIds = await Promise.all(names.map((name) => this.#serverId(name)));
    await this.#create(machine, serverIds, { name: 'site', host: APP_HOST, files: respondingApp(ANSWER) });
    return performance.now() - startedAt;
  }

  async #create(machine: Machine, serverIds: readonly ServerId[], { name, host, files, volumes = [] }: NewApp) {
    const repositoryUrl = await serveOnMachine(
      {
        machine,
        folder: join(this.#folder, `source-${name}`),
        port: SOURCE_PORT,
        create: (repositories) => repositories.create(name, files),
      },
      this.#undo,
    );
    const { deploymentId } = await this.#api.app.create.mutate({
      name,
      source: { kind: 'git', repositoryUrl },
      healthPath: '/',
      serverIds: [...serverIds],
      domain: { host },
      firstDeploy: 'deploy',
      settings: { volumes: [...volumes] },
    });
    await this.#live(deploymentId);
  }

  async #serverId(name: string): Promise<ServerId> {
    const { items } = await this.#api.server.list.query();
    const server = items.find((each) => each.name === name);
    if (server === undefined) throw new Error(`there is no server ${name}`);
    return server.id;
  }

  /** Deploys an app with a volume to a server, and takes a snapshot of what it wrote. */
  async keepNotes(machine: Machine, visitor: Machine): Promise<void> {
    const volumes = [{ name: 'notes', path: '/data' }];
    const app = { name: 'notes', host: NOTES_HOST, files: volumeApp('notes'), volumes };
    await this.#create(machine, [await this.#serverId(machine.name)], app);
    await this.requireNotes(machine, visitor, `/write?${NOTE}`);
    const find = async () => (await this.#api.volume.list.query({})).items.find(({ name }) => name === 'notes')?.id;
    const volumeId = await waitFor(find, { what: 'the volume', timeoutMs: ONLINE_TIMEOUT_MS, everyMs: 250 });
    await this.#api.volume.createSnapshot.mutate({ volumeId });
    const isStored = async () => {
      const [snapshot] = (await this.#api.volume.listSnapshots.query({ volumeId })).items;
      if (snapshot?.state === 'failed') throw new Error(`the snapshot failed: ${snapshot.failureMessage}`);
      return snapshot?.state === 'stored';
    };
    await waitFor(isStored, { what: 'the snapshot', timeoutMs: ONLINE_TIMEOUT_MS, everyMs: 250 });
  }

  /** Reads what the app with the volume has kept on a server. */
  async requireNotes(machine: Machine, visitor: Machine, path = '/'): Promise<void> {
    await requirePage(visitor, { ...this.targetOn(machine), host: NOTES_HOST }, path, `notes: ${NOTE}`);
  }

  /** Loses a server for good, and moves its apps with their volumes to another one. */
  async loseServer(lost: Machine, target: Machine): Promise<void> {
    await this.#servers.get(lost.name)?.stop();
    const isOffline = async () => {
      const { items } = await this.#api.server.list.query();
      return items.some(({ name, state }) => name === lost.name && state === 'offline');
    };
    await waitFor(isOffline, { what: `the loss of ${lost.name}`, timeoutMs: 2 * ONLINE_TIMEOUT_MS, everyMs: 250 });
    // Moving apps needs a fresh session.
    await this.signIn();
    const [serverId, targetServerId] = await Promise.all([lost, target].map(({ name }) => this.#serverId(name)));
    if (serverId === undefined || targetServerId === undefined) throw new Error('a server is not in the list');
    await this.#api.server.drain.mutate({ serverId, drained: true });
    await this.#api.server.moveApps.mutate({ serverId, targetServerId, copyVolumes: true });
    const end = await waitFor(
      async () => {
        const [move] = (await this.#api.volumeMove.list.query({ serverId })).items;
        return move === undefined || move.finishedAt === null ? undefined : move;
      },
      { what: 'the end of the move', timeoutMs: DEPLOY_TIMEOUT_MS, everyMs: 250 },
    );
    if (end.state !== 'succeeded' || !end.isFromSnapshots)
      throw new Error(`the move is ${end.state}: ${end.failureMessage}`);
  }

  /** Deploys the app once more. */
  async redeploy(): Promise<void> {
    const { items } = await this.#api.app.list.query({ limit: 50 });
    const app = items.find(({ name }) => name === 'site');
    if (app === undefined) throw new Error('the app is not in the list');
    const { deploymentId } = await this.#api.deployment.create.mutate({ appId: app.id });
    await this.#live(deploymentId);
  }

  async #live(deploymentId: string | null): Promise<void> {
    if (deploymentId === null) throw new Error('there is no deployment');
    const end = await waitFor(
      async () => {
        const deployment = await this.#api.deployment.get.query({ deploymentId });
        return deployment.finishedAt === null ? undefined : deployment;
      },
      { what: 'the end of the deployment', timeoutMs: DEPLOY_TIMEOUT_MS, everyMs: 250 },
    );
    if (end.state !== 'live') throw new Error(`the deployment is ${end.state}: ${end.failureMessage}`);
  }

  /** The app on a server that was added, and on the control plane's own. */
  targetOn(machine: Machine): Target {
    const caFile = join(this.#folder, machine.name, '.local/share/fairlead/ca/ca.pem');
    return { host: APP_HOST, address: machine.address, port: HIGH_HTTPS_PORT, caFile };
  }

  targetAt(address: string, dataFolder: string): Target {
    return { host: APP_HOST, address, port: 443, caFile: join(dataFolder, 'agent/ca/ca.pem') };
  }
}

async function memberOf(site: Site, person: Person): Promise<ApiClient> {
  return openClient(site, { ...(await signInFrom(site, person)), 'x-fairlead-organization': ORGANIZATION });
}

/** Opens the app on the visitor's machine. */
export async function requireApp(visitor: Machine, target: Target): Promise<void> {
  await requirePage(visitor, target, '/', ANSWER);
}

async function requirePage(visitor: Machine, { host, address, port, caFile }: Target, path: string, expected: string) {
  const flags = ['--resolve', `${host}:${port}:${address}`];
  const page = await curl(visitor, `https://${host}:${port}${path}`, { caFile, flags });
  const text = await page.text();
  if (page.status !== 200 || text !== expected)
    throw new Error(`${host} at ${address} answers ${page.status}: ${text}`);
}
