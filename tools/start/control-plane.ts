// Composes the control plane on this machine: PostgreSQL, gateway, worker and web, with their environments. `npm start`
// and the system tests share it.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startEmbedded } from '@fairlead/db/embedded';
import { migrate } from '@fairlead/db/migrate';
import {
  defaultOf,
  type Environment,
  type Given,
  PORTS,
  type PoolSizes,
  poolSizes,
  readEnvironment,
  type VariableName,
  variablesFor,
} from '@fairlead/settings';
import { ROOT } from '../lib/command.ts';
import { nodeOf } from '../lib/install.mjs';
import { releaseKeysOf, versionOf } from '../lib/release.ts';
import { answers } from '../lib/wait.ts';
import { closedFolder, type Folders } from './folders.ts';
import { KeptDatabase } from './kept-database.ts';
import type { PortName } from './options.mjs';
import { listenerUrl } from './ports.ts';
import { openSecrets } from './secrets.ts';
import { servedUrl } from './served-url.ts';
import { giveData, giveSockets, type ServiceUser } from './service-user.ts';
import type { Service, Supervisor } from './supervisor.ts';

export interface ControlPlaneOptions {
  readonly folders: Folders;
  readonly ports: Readonly<Record<PortName, number>>;
  /** Settings that differ from their defaults; a `DATABASE_URL` among them replaces the embedded PostgreSQL. */
  readonly settings?: Given;
  readonly supervisor: Supervisor;
  /** Agent that further servers can download, or a folder with one for each kind of machine. */
  readonly agentBinary: string;
  /** Script of the web server; undefined runs no web app. */
  readonly webServer: string | undefined;
  /** Folder that an installation shares with its updater. */
  readonly updaterFolder?: string;
  /** User of the services. Default: that of the start. */
  readonly serviceUser?: ServiceUser;
  /** For tests only: PostgreSQL may lose its last second at a power cut. */
  readonly unsafeButFast?: boolean;
}

/** Default host name under which the local proxy serves the control plane. */
export const CONTROL_HOST = defaultOf('FAIRLEAD_CONTROL_HOST');

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

export class ControlPlane {
  readonly databaseUrl: string;
  /** Address at which people open the dashboard. */
  readonly publicUrl: string;
  /** Certificate authority of the public URL, which the local agent creates; undefined if it does not serve that URL. */
  readonly publicCaFile: string | undefined;
  /** Address of the dashboard on this machine. */
  readonly localUrl: string;
  readonly gatewayUrl: string;
  /** Host under which the local agent's proxy serves the control plane; empty for none. */
  readonly controlHost: string;
  readonly pools: PoolSizes;
  readonly #options: ControlPlaneOptions;
  readonly #embedded: KeptDatabase | undefined;
  readonly #values: Environment<'start'>;
  /** Variables of all services; each gets those that it needs. */
  readonly #variables: Readonly<Partial<Record<VariableName, string>>>;

  private constructor(options: ControlPlaneOptions, databaseUrl: string, embedded: KeptDatabase | undefined) {
    this.#options = options;
    this.#embedded = embedded;
    this.databaseUrl = databaseUrl;
    const { folders, ports, settings = {} } = options;
    const given: Given = {
      FAIRLEAD_PUBLIC_URL: `http://localhost:${ports.web}`,
      ...settings,
      ...Object.fromEntries(PORTS.map(({ name, variable }) => [variable, String(ports[name])])),
    };
    this.#values = readEnvironment('start', given);
    this.publicUrl = this.#values.FAIRLEAD_PUBLIC_URL;
    const served = servedUrl(settings);
    this.publicCaFile = served && join(folders.controlAuthorities, served.hostname, 'ca.pem');
    this.controlHost = this.#values.FAIRLEAD_CONTROL_HOST;
    this.pools = poolSizes(this.#values);
    this.localUrl = listenerUrl(this.#values.FAIRLEAD_WEB_HOST, ports.web);
    this.gatewayUrl = listenerUrl(this.#values.FAIRLEAD_GATEWAY_HOST, ports.gateway);
    const secrets = openSecrets(folders, settings.FAIRLEAD_MASTER_KEY_FILE);
    const releaseKeys = releaseKeysOf(ROOT);
    this.#variables = {
      FAIRLEAD_AGENT_BINARY: options.agentBinary,
      ...given,
      ...(this.publicCaFile === undefined ? {} : { FAIRLEAD_PUBLIC_CA_FILE: this.publicCaFile }),
      DATABASE_URL: databaseUrl,
      FAIRLEAD_DATA_DIR: folders.data,
      FAIRLEAD_VERSION: versionOf(ROOT),
      ...(releaseKeys.length === 0 ? {} : { FAIRLEAD_RELEASE_KEYS: releaseKeys.join(',') }),
      ...(options.updaterFolder === undefined ? {} : { FAIRLEAD_UPDATER_DIR: options.updaterFolder }),
      FAIRLEAD_GATEWAY_URL: this.gatewayUrl,
      FAIRLEAD_MASTER_KEY_FILE: secrets.masterKey,
      FAIRLEAD_AUTH_SECRET_FILE: secrets.authSecret,
      FAIRLEAD_INTERNAL_TOKEN_FILE: secrets.internalToken,
      FAIRLEAD_SIGNING_KEY_DIR: folders.signingKeys,
      FAIRLEAD_LOG_STORE_DIR: folders.logStore,
      FAIRLEAD_BACKUP_SCRIPT: join(ROOT, 'tools/backup/run.ts'),
    };
    if (options.serviceUser !== undefined) giveData(folders, settings, options.serviceUser);
  }

  /** Opens the database and migrates it; starts no service yet. */
  static async open(options: ControlPlaneOptions): Promise<ControlPlane> {
    const { folders, settings = {} } = options;
    const log = appendTo(join(folders.logs, 'postgres.log'));
    const embedded = settings.DATABASE_URL === undefined ? await startDatabase(options, log) : undefined;
    try {
      const url = settings.DATABASE_URL ?? embedded?.url;
      if (url === undefined) throw new Error('neither DATABASE_URL nor an embedded PostgreSQL');
      await migrate({ url, dir: join(ROOT, 'prisma/migrations'), log });
      return new ControlPlane(options, url, embedded);
    } catch (error) {
      await embedded?.stop();
      throw error;
    }
  }

  /** Process id of the embedded PostgreSQL. */
  get databasePid(): number | undefined {
    return this.#embedded?.pid;
  }

  async startGateway(): Promise<void> {
    await this.#options.supervisor.start(
      this.#service('gateway', 'apps/gateway/src/main.ts', () => answers(`${this.gatewayUrl}/healthz`)),
    );
  }

  async startWorker(): Promise<void> {
    const log = this.#options.supervisor.logFile('worker');
    // The worker listens on no port; its log shows when it takes jobs. Ignore lines from an earlier run.
    const before = existsSync(log) ? readFileSync(log).length : 0;
    const isReady = async () => {
      const written = existsSync(log) ? readFileSync(log) : Buffer.alloc(0);
      // A shorter log was rotated in between.
      return /"msg":"ready"/.test(written.subarray(written.length < before ? 0 : before).toString('utf8'));
    };
    await this.#options.supervisor.start(this.#service('worker', 'apps/worker/src/main.ts', isReady));
  }

  async startWeb(): Promise<void> {
    const { webServer, ports, supervisor } = this.#options;
    if (webServer === undefined) throw new Error('this control plane has no web app');
    const service = this.#service('web', webServer, () => answers(`${this.localUrl}/healthz`));
    const listen = { PORT: String(ports.web), HOSTNAME: this.#values.FAIRLEAD_WEB_HOST };
    await supervisor.start({ ...service, env: { ...service.env, ...listen } });
  }

  async start(): Promise<void> {
    const { webServer } = this.#options;
    // People and agents wait for these two; the worker takes up its jobs after them.
    await Promise.all([this.startGateway(), ...(webServer === undefined ? [] : [this.startWeb()])]);
    await this.startWorker();
  }

  /** Stops everything but PostgreSQL. */
  async stopServices(): Promise<void> {
    await Promise.all(['worker', 'gateway', 'web'].map((name) => this.#options.supervisor.stop(name)));
  }

  async stopDatabase(): Promise<void> {
    await this.#embedded?.stop();
  }

  #service(name: 'web' | 'gateway' | 'worker', script: string, ready: () => Promise<boolean>): Service {
    const { folders, serviceUser: user } = this.#options;
    return {
      name,
      ...(user === undefined ? {} : { user, prepare: () => giveSockets(folders, user) }),
      command: nodeOf(ROOT),
      // A small young generation: these processes wait more than they compute, and would otherwise hold memory.
      args: [
        '--disable-warning=ExperimentalWarning',
        '--max-semi-space-size=2',
        '--import',
        pathToFileURL(join(ROOT, 'tools/start/control-socket.ts')).href,
        resolve(ROOT, script),
      ],
      cwd: ROOT,
      env: {
        ...this.#commonEnvironment(),
        ...variablesFor(name, this.#variables),
        FAIRLEAD_CONTROL_SOCKET: join(this.#options.folders.controlSockets, `${name}.sock`),
      },
      ready,
      readyTimeoutMs: READY_TIMEOUT_MS,
      stopTimeoutMs: STOP_TIMEOUT_MS,
    };
  }

  #commonEnvironment(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '/',
      TZ: 'UTC',
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
      NODE_COMPILE_CACHE: this.#options.folders.compileCache,
    };
  }
}

type Log = (line: string) => void;

function startDatabase(options: ControlPlaneOptions, log: Log): Promise<KeptDatabase> {
  const { folders, ports, settings = {}, unsafeButFast } = options;
  const isClosed = process.getuid?.() === 0 && closedFolder(join(ROOT, 'node_modules')) !== undefined;
  const server = {
    dataDir: folders.postgres,
    port: ports.database,
    log,
    pools: poolSizes(readEnvironment('start', settings)),
    ...(isClosed ? { binariesDir: join(folders.runtime, 'postgres') } : {}),
    ...(unsafeButFast ? { unsafeButFast } : {}),
  };
  return KeptDatabase.open(() => startEmbedded(server), log);
}

/** Writes each line synchronously, because the lines of a crash matter most. A full disk loses lines, and ends nothing. */
function appendTo(file: string): Log {
  return (line) => {
    try {
      appendFileSync(file, `${line}\n`, { mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  };
}
