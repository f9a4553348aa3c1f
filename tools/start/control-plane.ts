// Composes the control plane on this machine: PostgreSQL, gateway, worker and web, with their environments. `npm start`
// and the system tests share it.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startEmbedded } from '@fairlead/db/embedded';
import { migrate } from '@fairlead/db/migrate';
import { ROOT } from '../lib/command.ts';
import { nodeOf } from '../lib/install.mjs';
import { answers } from '../lib/wait.ts';
import { closedFolder, type Folders } from './folders.ts';
import { KeptDatabase } from './kept-database.ts';
import type { PortName } from './options.mjs';
import { openSecrets } from './secrets.ts';
import type { Service, Supervisor } from './supervisor.ts';

export interface ControlPlaneOptions {
  readonly folders: Folders;
  readonly ports: Readonly<Record<PortName, number>>;
  /** URL of an external PostgreSQL; undefined starts the embedded one. */
  readonly databaseUrl: string | undefined;
  readonly supervisor: Supervisor;
  /** Agent that further servers can download. */
  readonly agentBinary: string;
  /** Script of the web server; undefined runs no web app. */
  readonly webServer: string | undefined;
  /** https URL for other machines. Default: the dashboard's port on localhost. */
  readonly publicUrl?: string | undefined;
  /** True if the local agent's proxy serves the public URL, with a certificate of its own authority. */
  readonly servesPublicUrl?: boolean;
  /** For tests only: PostgreSQL may lose its last second at a power cut. */
  readonly unsafeButFast?: boolean;
}

/** Host name under which the local proxy serves the control plane. */
export const CONTROL_HOST = 'fairlead.localhost';

/** Settings of the mail transport. Only the processes that send mail get them, because they contain a password. */
const MAIL_SETTINGS = ['FAIRLEAD_SMTP_URL', 'FAIRLEAD_SMTP_URL_FILE', 'FAIRLEAD_MAIL_FROM'];
/** Settings of the web app: rate limit, reverse proxies, outbound access and security contact. */
const WEB_SETTINGS = [
  'FAIRLEAD_CALLS_PER_MINUTE',
  'FAIRLEAD_TRUSTED_PROXIES',
  'FAIRLEAD_OUTBOUND_ALLOW',
  'FAIRLEAD_SECURITY_CONTACT',
];

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

export class ControlPlane {
  readonly databaseUrl: string;
  readonly publicUrl: string;
  readonly gatewayUrl: string;
  readonly #options: ControlPlaneOptions;
  readonly #embedded: KeptDatabase | undefined;
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(options: ControlPlaneOptions, databaseUrl: string, embedded: KeptDatabase | undefined) {
    this.#options = options;
    this.#embedded = embedded;
    this.databaseUrl = databaseUrl;
    this.publicUrl = options.publicUrl ?? `http://localhost:${options.ports.web}`;
    this.gatewayUrl = `http://127.0.0.1:${options.ports.gateway}`;
    this.#environment = this.#commonEnvironment();
  }

  /** Opens the database and migrates it; starts no service yet. */
  static async open(options: ControlPlaneOptions): Promise<ControlPlane> {
    const { databaseUrl, folders } = options;
    const log = appendTo(join(folders.logs, 'postgres.log'));
    const embedded = databaseUrl === undefined ? await startDatabase(options, log) : undefined;
    try {
      const url = databaseUrl ?? embedded?.url;
      if (url === undefined) throw new Error('neither DATABASE_URL nor an embedded PostgreSQL');
      await migrate({ url, dir: join(ROOT, 'prisma/migrations'), log });
      return new ControlPlane(options, url, embedded);
    } catch (error) {
      await embedded?.stop();
      throw error;
    }
  }

  /** Certificate authority of the public URL; undefined if every machine trusts its certificate. */
  get publicCaFile(): string | undefined {
    const { folders, servesPublicUrl } = this.#options;
    return servesPublicUrl ? join(folders.controlAuthorities, new URL(this.publicUrl).hostname, 'ca.pem') : undefined;
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
    const isReady = async () =>
      existsSync(log) && /"msg":"ready"/.test(readFileSync(log).subarray(before).toString('utf8'));
    const service = this.#service('worker', 'apps/worker/src/main.ts', isReady);
    await this.#options.supervisor.start({ ...service, env: { ...service.env, ...userEnvironment(MAIL_SETTINGS) } });
  }

  async startWeb(): Promise<void> {
    const { webServer, ports, supervisor } = this.#options;
    if (webServer === undefined) throw new Error('this control plane has no web app');
    const ready = () => answers(`http://127.0.0.1:${ports.web}/healthz`);
    const service = this.#service('web', webServer, ready);
    const env: Record<string, string> = { ...service.env, ...userEnvironment([...MAIL_SETTINGS, ...WEB_SETTINGS]) };
    const { publicCaFile } = this;
    if (publicCaFile !== undefined) env.FAIRLEAD_PUBLIC_CA_FILE = publicCaFile;
    await supervisor.start({ ...service, env: { ...env, PORT: String(ports.web), HOSTNAME: '127.0.0.1' } });
  }

  async start(): Promise<void> {
    const { webServer } = this.#options;
    await Promise.all([this.startGateway(), this.startWorker(), ...(webServer === undefined ? [] : [this.startWeb()])]);
  }

  /** Stops everything but PostgreSQL. */
  async stopServices(): Promise<void> {
    for (const name of ['worker', 'gateway', 'web']) await this.#options.supervisor.stop(name);
  }

  async stopDatabase(): Promise<void> {
    await this.#embedded?.stop();
  }

  #service(name: string, script: string, ready: () => Promise<boolean>): Service {
    return {
      name,
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
        ...this.#environment,
        FAIRLEAD_CONTROL_SOCKET: join(this.#options.folders.controlSockets, `${name}.sock`),
      },
      ready,
      readyTimeoutMs: READY_TIMEOUT_MS,
      stopTimeoutMs: STOP_TIMEOUT_MS,
    };
  }

  #commonEnvironment(): Record<string, string> {
    const { folders, ports, agentBinary } = this.#options;
    const secrets = openSecrets(folders);
    return {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '/',
      TZ: 'UTC',
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
      NODE_COMPILE_CACHE: folders.compileCache,
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'info',
      DATABASE_URL: this.databaseUrl,
      FAIRLEAD_DATA_DIR: folders.data,
      FAIRLEAD_PUBLIC_URL: this.publicUrl,
      FAIRLEAD_GATEWAY_URL: this.gatewayUrl,
      FAIRLEAD_GATEWAY_HOST: '127.0.0.1',
      FAIRLEAD_GATEWAY_PORT: String(ports.gateway),
      FAIRLEAD_HTTPS_PORT: String(ports.https),
      FAIRLEAD_CONTROL_HOST: CONTROL_HOST,
      FAIRLEAD_AUTH_SECRET_FILE: secrets.authSecret,
      FAIRLEAD_INTERNAL_TOKEN_FILE: secrets.internalToken,
      FAIRLEAD_MASTER_KEY_FILE: secrets.masterKey,
      FAIRLEAD_SIGNING_KEY_DIR: folders.signingKeys,
      FAIRLEAD_LOG_STORE_DIR: folders.logStore,
      // The user may offer another program, or a folder with one for each architecture.
      FAIRLEAD_AGENT_BINARY: process.env.FAIRLEAD_AGENT_BINARY ?? agentBinary,
    };
  }
}

/** Returns these settings from the user's own environment. */
function userEnvironment(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}

type Log = (line: string) => void;

function startDatabase({ folders, ports, unsafeButFast }: ControlPlaneOptions, log: Log): Promise<KeptDatabase> {
  const isClosed = process.getuid?.() === 0 && closedFolder(join(ROOT, 'node_modules')) !== undefined;
  const settings = {
    dataDir: folders.postgres,
    port: ports.database,
    log,
    ...(isClosed ? { binariesDir: join(folders.runtime, 'postgres') } : {}),
    ...(unsafeButFast ? { unsafeButFast } : {}),
  };
  return KeptDatabase.open(() => startEmbedded(settings), log);
}

/** Writes each line synchronously, because the lines of a crash matter most. */
function appendTo(file: string): Log {
  return (line) => appendFileSync(file, `${line}\n`, { mode: 0o600 });
}
