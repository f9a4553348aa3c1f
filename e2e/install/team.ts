// Team that works with the installed control plane from machines of its own: owner, colleague, a second server and an app.
import { join } from 'node:path';
import { ADA, type Person } from '../../tools/lib/dashboard-client.ts';
import type { Undo } from '../../tools/lib/undo.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { respondingApp } from '../system/harness/apps.ts';
import { type ApiClient, curl, openClient, type Site, signInFrom } from '../system/harness/machine-client.ts';
import { serveOnMachine } from '../system/harness/machine-repository.ts';
import type { Machine } from '../system/harness/machines.ts';
import { pasteEnrolment } from '../system/harness/second-server.ts';
import type { Target } from './visits.ts';

const GRACE: Person = { name: 'Grace Example', email: 'grace@example.com', password: 'a boat sails home' };
const ORGANIZATION = 'my-organization';
const APP_HOST = 'site.localhost';
const ANSWER = 'Hello from a release';
const SOURCE_PORT = 4402;
/** Port of a proxy that does not run as root. */
const HIGH_HTTPS_PORT = 8443;
const ONLINE_TIMEOUT_MS = 60_000;
/** Each server must stay connected for a minute. */
const UPGRADE_TIMEOUT_MS = 10 * 60_000;
const DEPLOY_TIMEOUT_MS = 5 * 60_000;

export class Team {
  readonly #site: Site;
  readonly #folder: string;
  readonly #undo: Undo[];
  #owner: ApiClient | undefined;

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
    await this.online(machine.name);
    return 'online';
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
    const end = await waitFor(
      async () => {
        const { rollout } = await this.#api.agentRollout.get.query();
        return rollout === null || rollout.state === 'running' ? undefined : rollout;
      },
      { what: 'the end of the upgrade', timeoutMs: UPGRADE_TIMEOUT_MS, everyMs: 1000 },
    );
    if (end.state !== 'succeeded') throw new Error(`the upgrade is ${end.state}: ${end.reason}`);
    const upgraded = end.servers.filter(({ progress }) => progress === 'upgraded').map(({ name }) => name);
    return `${upgraded.join(', ')} in ${end.waveCount} waves`;
  }

  /** Deploys an app that `machine` builds to these servers; returns how long it took. */
  async deploy(machine: Machine, names: readonly string[]): Promise<number> {
    const startedAt = performance.now();
    const repositoryUrl = await serveOnMachine(
      {
        machine,
        folder: join(this.#folder, 'source'),
        port: SOURCE_PORT,
        create: (repositories) => repositories.create('site', respondingApp(ANSWER)),
      },
      this.#undo,
    );
    const { items } = await this.#api.server.list.query();
    const serverIds = names.flatMap((name) => items.filter((server) => server.name === name).map(({ id }) => id));
    const { deploymentId } = await this.#api.app.create.mutate({
      name: 'site',
      source: { kind: 'git', repositoryUrl },
      healthPath: '/',
      serverIds,
      domain: { host: APP_HOST },
      firstDeploy: 'deploy',
    });
    await this.#live(deploymentId);
    return performance.now() - startedAt;
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
export async function requireApp(visitor: Machine, { host, address, port, caFile }: Target): Promise<void> {
  const flags = ['--resolve', `${host}:${port}:${address}`];
  const page = await curl(visitor, `https://${host}:${port}/`, { caFile, flags });
  const text = await page.text();
  if (page.status !== 200 || text !== ANSWER) throw new Error(`the app at ${address} answers ${page.status}: ${text}`);
}
