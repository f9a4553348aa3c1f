// Complete Fairlead for one test file: embedded PostgreSQL, gateway, worker and a real agent, started by the code of
// `npm start`. Uses free ports, and a folder that is deleted at the end.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { AppId, DeploymentId, ServerId } from '@fairlead/contract/ids';
import { type AppDetail, type CreatedApp, updateConfig } from '@fairlead/core/app';
import { createFolderArtifactStore, recordArtifact } from '@fairlead/core/artifact';
import { updateConfigInputSchema } from '@fairlead/core/config';
import { updateCredential } from '@fairlead/core/credential';
import type { DeploymentDetail } from '@fairlead/core/deployment';
import { type Ctx, systemClock } from '@fairlead/core/kernel';
import { createFolderLogStore, type LogStore } from '@fairlead/core/log';
import {
  createSecretKeys,
  openMasterKeyFile,
  type SecretKeys,
  type UpdateSecretsInput,
  updateSecrets,
} from '@fairlead/core/secret';
import {
  type AgentOffer,
  getServer,
  type ServerDetail,
  type ServerSummary,
  type UpgradeView,
  upgradeServer,
} from '@fairlead/core/server';
import { registryHost } from '@fairlead/core/source';
import { pidsListeningOn } from '../../../tools/lib/listeners.ts';
import {
  answerPinned,
  type PinnedAnswer,
  type PinnedResponse,
  requestPinned,
} from '../../../tools/lib/pinned-request.ts';
import { startTraffic, type Traffic } from '../../../tools/lib/traffic.ts';
import { type Undo, undoAll } from '../../../tools/lib/undo.ts';
import { waitFor } from '../../../tools/lib/wait.ts';
import { CONTROL_HOST, type ControlPlane } from '../../../tools/start/control-plane.ts';
import { enrolAgent, type LocalAgentOptions, startAgent } from '../../../tools/start/local-agent.ts';
import type { Product } from '../../../tools/start/product.ts';
import { AGENT, AGENT_BINARY, assemble, findServer, type Parts, type SystemOptions, silentLog } from './assemble.ts';
import { type Load, startLoad } from './load.ts';
import type { Repositories, Repository } from './repository.ts';
import { backUpParts, type KeyedBackup, restoreParts } from './restore-parts.ts';

const FINISHED = new Set(['live', 'failed', 'cancelled', 'superseded']);
/** A first build may download its runtime and compile native modules. */
const DEPLOY_TIMEOUT_MS = 400_000;

export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

export class System {
  #parts: Parts;
  #logs: LogStore;
  readonly #undo: readonly Undo[];
  readonly #firstControlPlane: ControlPlane;

  private constructor(parts: Parts, undo: readonly Undo[]) {
    this.#parts = parts;
    this.#firstControlPlane = parts.controlPlane;
    this.#undo = undo;
    this.#logs = createFolderLogStore(parts.folders.logStore);
  }

  /** Resolves when the agent is online; cleans up when a step fails. */
  static async start(options: SystemOptions = {}): Promise<System> {
    if (!existsSync(AGENT_BINARY))
      throw new Error(`${AGENT_BINARY} is not built: cargo build -p fairlead-agent in agents/`);
    // Short path, because socket paths below the agent's data folder have a length limit.
    const folder = mkdtempSync(join(options.parent ?? tmpdir(), 'fairlead-'));
    const undo: Undo[] = [async () => rmSync(folder, { recursive: true })];
    try {
      return new System(await assemble(folder, options, undo), undo);
    } catch (error) {
      await undoAll(undo);
      throw error;
    }
  }

  get product(): Product {
    return this.#parts.product;
  }

  get controlPlane(): ControlPlane {
    return this.#parts.controlPlane;
  }

  get repositories(): Repositories {
    return this.#parts.repositories;
  }

  /** Folder for `--data` of operator commands. */
  get dataFolder(): string {
    return this.#parts.folders.data;
  }

  get agentFolder(): string {
    return this.#parts.folders.agent;
  }

  /** Process of the agent's `run`; undefined while it restarts. */
  get agentPid(): number | undefined {
    return this.#parts.supervisor.pid(AGENT);
  }

  async stopAgent(): Promise<void> {
    await this.#parts.supervisor.stop(AGENT);
  }

  startAgent(): Promise<void> {
    return startAgent(this.#parts.agent);
  }

  /** Starts the agent without a control plane; resolves when the app responds. */
  startAgentAlone(slug: string): Promise<void> {
    const connected = () =>
      this.get(slug).then(
        ({ status }) => status === 200,
        () => false,
      );
    return startAgent({ ...this.#parts.agent, connected });
  }

  /** Process of a service, or of an added agent's `run`; undefined while it restarts. */
  servicePid(name: string): number | undefined {
    return this.#parts.supervisor.pid(name);
  }

  /** Process of the agent's `proxy`: it listens on the HTTPS port and is not `run`. */
  proxyPid(): Promise<number> {
    const { ports } = this.#parts;
    const find = () => pidsListeningOn(ports.https).find((pid) => pid !== this.agentPid);
    return waitFor(find, { what: 'a proxy that listens', timeoutMs: 10_000 });
  }

  get ports(): Parts['ports'] {
    return this.#parts.ports;
  }

  /** Port of the repository server on this machine. */
  get sourcePort(): number {
    return this.#parts.ports.source;
  }

  async servers(): Promise<readonly ServerSummary[]> {
    return (await this.product.verbs.listServers()).items;
  }

  /** Enrols another agent and waits until it is online; returns a function that stops it. */
  async addAgent(
    agent: Pick<LocalAgentOptions, 'name' | 'folder' | 'ports' | 'address' | 'args' | 'prefix' | 'environment'> &
      Partial<Pick<LocalAgentOptions, 'controlUrl' | 'controlCaFile' | 'stopAppsOnExit'>>,
  ): Promise<() => Promise<void>> {
    const { supervisor, agent: local } = this.#parts;
    const isOnline = async () => (await this.servers()).find(({ name }) => name === agent.name)?.state === 'online';
    const options: LocalAgentOptions = { ...local, ...agent, connected: isOnline };
    const { token } = await this.product.verbs.createEnrolment({ name: agent.name, isLocal: false });
    await enrolAgent(options, token);
    const stop = () => supervisor.stop(agent.name);
    try {
      await startAgent(options);
    } catch (error) {
      await stop();
      throw error;
    }
    return stop;
  }

  server(): Promise<ServerSummary> {
    return waitFor(() => findServer(this.product), { what: 'the server', timeoutMs: 5000 });
  }

  /** Returns the data of the local server's page. */
  async serverDetail(): Promise<ServerDetail> {
    const serverId = await this.serverId();
    return this.asSystem((ctx) => getServer(ctx, { serverId }));
  }

  async serverId(): Promise<ServerId> {
    return (await this.server()).id;
  }

  /**
   * Creates an app from the repository with the host `<slug>.localhost`, and waits for the end of its first deployment.
   */
  async createApp(
    slug: string,
    repository: Pick<Repository, 'url'>,
    healthPath = '',
    serverId?: ServerId,
  ): Promise<DeploymentDetail> {
    return this.waitForDeployment(await this.beginApp(slug, repository, healthPath, serverId));
  }

  /** Creates and deploys an app without waiting; returns the deployment. */
  async beginApp(
    slug: string,
    repository: Pick<Repository, 'url'>,
    healthPath = '',
    serverId?: ServerId,
  ): Promise<DeploymentId> {
    const created = await this.#create(slug, repository, { healthPath, serverId, deployNow: true });
    if (created.deploymentId === null) throw new Error('the app was made without a deployment');
    return created.deploymentId;
  }

  /** Creates an app from an image in a private registry; returns the app, not deployed yet. */
  async createImageApp(slug: string, image: string, login: RegistryLogin, serverId: ServerId): Promise<AppId> {
    // The repository is never cloned.
    const repository = { url: 'https://nowhere.example/none.git' };
    const { id: appId } = await this.#create(slug, repository, { healthPath: '/', serverId, deployNow: false });
    await this.asSystem(async (ctx, keys) => {
      await updateConfig(ctx, { appId, settings: { builder: 'image', image } });
      await updateCredential(ctx, { appId, kind: 'registry', host: registryHost(image), ...login }, keys);
    });
    return appId;
  }

  /**
   * Creates an app from the repository's default branch with settings in the API's format; returns the app, not
   * deployed yet.
   */
  async createAppWith(
    slug: string,
    repository: Pick<Repository, 'url'>,
    settings: Readonly<Record<string, unknown>>,
    serverId?: ServerId,
  ): Promise<AppId> {
    const options = { healthPath: '/', serverId, deployNow: false, branch: '' };
    const { id: appId } = await this.#create(slug, repository, options);
    await this.asSystem((ctx) => updateConfig(ctx, updateConfigInputSchema.parse({ appId, settings })));
    return appId;
  }

  async #create(
    slug: string,
    repository: Pick<Repository, 'url'>,
    options: {
      readonly healthPath: string;
      readonly serverId: ServerId | undefined;
      readonly deployNow: boolean;
      readonly branch?: string;
    },
  ): Promise<CreatedApp> {
    const { healthPath, serverId, deployNow, branch = 'main' } = options;
    return this.product.verbs.createApp(
      {
        name: slug,
        source: { kind: 'git', repositoryUrl: repository.url, branch },
        healthPath,
        serverIds: [serverId ?? (await this.serverId())],
        domain: { host: `${slug}.localhost` },
        firstDeploy: deployNow ? 'deploy' : 'none',
      },
      { controlHost: CONTROL_HOST, publicHost: '' },
    );
  }

  async deploy(appId: AppId): Promise<DeploymentDetail> {
    const { deploymentId } = await this.product.verbs.createDeployment({ appId });
    return this.waitForDeployment(deploymentId);
  }

  waitForDeployment(deploymentId: DeploymentId, timeoutMs = DEPLOY_TIMEOUT_MS): Promise<DeploymentDetail> {
    return waitFor(
      async () => {
        const deployment = await this.product.verbs.getDeployment({ deploymentId });
        return FINISHED.has(deployment.state) ? deployment : undefined;
      },
      { what: `the end of the deployment ${deploymentId}`, timeoutMs, everyMs: 250 },
    );
  }

  app(slug: string): Promise<AppDetail> {
    return this.product.verbs.getApp(
      { slug },
      { localHttpsPort: this.#parts.ports.https, localHttpPort: this.#parts.ports.http },
    );
  }

  /** Returns the complete stored log of a deployment. */
  async log(deploymentId: DeploymentId): Promise<readonly string[]> {
    const page = await this.product.verbs.readLog({ deploymentId, fromLine: 0, limit: 5000 }, this.#logs);
    return page.lines.map((line) => line.text);
  }

  /** Sends one request to `<slug>.localhost` through the proxy, with the local authority pinned. */
  get(
    slug: string,
    path = '/',
    timeoutMs = 5000,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<PinnedResponse> {
    const { https: port } = this.#parts.ports;
    return requestPinned({ host: `${slug}.localhost`, port, path, caFile: this.caFile, timeoutMs, headers });
  }

  /** Sends one request and returns the response headers as well. */
  getResponse(slug: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<PinnedAnswer> {
    const { https: port } = this.#parts.ports;
    return answerPinned({ host: `${slug}.localhost`, port, path, caFile: this.caFile, timeoutMs: 30_000, headers });
  }

  traffic(slug: string, path: string, connections = 4): Traffic {
    const { ports } = this.#parts;
    return startTraffic({ host: `${slug}.localhost`, port: ports.https, caFile: this.caFile, path, connections });
  }

  /** Starts all kinds of load on `<slug>.localhost`. */
  load(slug: string): Load {
    return startLoad({ host: `${slug}.localhost`, port: this.#parts.ports.https, caFile: this.caFile });
  }

  get caFile(): string {
    return join(this.agentFolder, 'ca/ca.pem');
  }

  /** Writes secrets of an app; its next deployment applies them. */
  async setSecrets(appId: AppId, items: UpdateSecretsInput['items']): Promise<void> {
    await this.asSystem(async (ctx, keys) => {
      await updateSecrets(ctx, { owner: { appId }, items }, keys);
    });
  }

  /** Runs verbs that `product` does not have. */
  async asSystem<T>(work: (ctx: Ctx, keys: SecretKeys) => Promise<T>): Promise<T> {
    const { product, folders } = this.#parts;
    const { database, organizationId } = product;
    const keys = createSecretKeys(await openMasterKeyFile(join(folders.secrets, 'master-key')));
    const actor = { kind: 'system', reason: 'a test' } as const;
    return database.tenant(organizationId, (tx) =>
      work({ tx, organizationId, actor, clock: systemClock, log: silentLog }, keys),
    );
  }

  /** Puts a program into the artifact store as another agent for machines of this kind. */
  async offerAgent(program: Buffer, spoil?: (path: string) => void): Promise<AgentOffer> {
    const { folders, product } = this.#parts;
    const { organizationId } = product;
    const folder = join(folders.logStore, 'artifacts');
    const added = await createFolderArtifactStore(folder).add(organizationId, Readable.from([program]));
    if (added.kind !== 'whole') throw new Error(`the store did not take the program: ${added.kind}`);
    spoil?.(join(folder, organizationId, added.hex));
    const { host } = await this.server();
    const target = host.arch === 'aarch64' ? 'linux-arm64' : 'linux-x64';
    const { hex, sizeBytes } = added;
    const offer = { target, version: '9.9.9', digest: `sha256:${hex}`, sizeBytes, signature: '' } as const;
    await this.asSystem((ctx) =>
      recordArtifact(ctx, { digest: offer.digest, kind: 'agent', sizeBytes: offer.sizeBytes }),
    );
    return offer;
  }

  /** Requests an upgrade of the local server to a program, and returns its outcome. */
  async upgradeAgent(program: Buffer, spoil?: (path: string) => void): Promise<UpgradeView> {
    const offer = await this.offerAgent(program, spoil);
    const serverId = await this.serverId();
    await this.asSystem((ctx) => upgradeServer(ctx, { serverId }, [offer]));
    return waitFor(
      async () => {
        const { upgrade } = await this.server();
        return upgrade === null || upgrade.state === 'running' ? undefined : upgrade;
      },
      { what: 'the end of the upgrade', timeoutMs: 180_000 },
    );
  }

  /** Backs up as `npm run backup` does; returns the files and the recovery key. */
  backUp(to: string): Promise<KeyedBackup> {
    return backUpParts(this.#parts, to);
  }

  /**
   * Replaces the control plane: deletes everything but the agent's own folder, and restores a new one from the backup
   * on the same ports.
   */
  async replaceControlPlane(backup: KeyedBackup): Promise<void> {
    this.#parts = await restoreParts(this.#parts, backup);
    this.#logs = createFolderLogStore(this.#parts.folders.logStore);
    await this.controlPlane.start();
  }

  logOf(service: string): string {
    return readFileSync(this.#parts.supervisor.logFile(service), 'utf8');
  }

  async stop(): Promise<void> {
    if (this.#parts.controlPlane !== this.#firstControlPlane) {
      await this.#parts.product.close();
      await this.#parts.controlPlane.stopServices();
      await this.#parts.supervisor.stop(AGENT);
      await this.#parts.controlPlane.stopDatabase();
    }
    await undoAll(this.#undo);
  }
}
