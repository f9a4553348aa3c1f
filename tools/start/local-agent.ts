// Supervises this machine's agent: enrols it once with a single-use token from a file, then keeps it running.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { run } from '../lib/command.ts';
import type { PortName } from './options.mjs';
import type { Supervisor } from './supervisor.ts';

export interface LocalAgentOptions {
  readonly name: string;
  readonly binary: string;
  /** Data folder of the agent. */
  readonly folder: string;
  readonly ports: Readonly<Pick<Record<PortName, number>, 'https' | 'http'>>;
  /** PATH of builds and apps. */
  readonly path: string;
  /** Listen address of its proxy. Default: loopback. */
  readonly address?: string;
  /** Command prefix for an agent in a namespace of its own; it must exec the agent and not fork it. */
  readonly prefix?: readonly string[];
  /** Options of `run` beside the common ones. */
  readonly args?: readonly string[];
  /** Environment beside the common variables. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly controlUrl: string;
  /** Additional certificate authority for the agent, in PEM. */
  readonly controlCaFile?: string;
  readonly supervisor: Supervisor;
  /** Returns true once the control plane sees the agent. */
  readonly connected: () => Promise<boolean>;
  /** True to stop the apps together with the agent. */
  readonly stopAppsOnExit: boolean;
  /** Time in seconds that a new agent on trial must stay connected; tests can't wait for the default minute. */
  readonly proofSeconds?: number;
}

export class EnrolmentFailed extends Error {}

const READY_TIMEOUT_MS = 30_000;
/** Time to drain, stop apps and close the proxy. */
const STOP_TIMEOUT_MS = 45_000;

/** Copies the binary to its place of use, so that a new build never touches a running one. */
export function installAgent(built: string, installed: string): void {
  if (existsSync(installed) && readFileSync(installed).equals(readFileSync(built))) return;
  mkdirSync(dirname(installed), { recursive: true, mode: 0o711 });
  copyFileSync(built, `${installed}.new`);
  renameSync(`${installed}.new`, installed);
}

export function isEnrolled(folder: string): boolean {
  return existsSync(join(folder, 'agent.toml'));
}

export async function enrolAgent(options: LocalAgentOptions, token: string): Promise<void> {
  mkdirSync(options.folder, { recursive: true, mode: 0o711 });
  const tokenFile = join(options.folder, 'enrolment-token');
  writeFileSync(tokenFile, token, { mode: 0o600 });
  try {
    const args = ['enrol', '--control', options.controlUrl, '--data', options.folder, '--token-file', tokenFile];
    if (options.controlCaFile !== undefined) args.push('--ca', options.controlCaFile);
    const [program = '', ...rest] = [...(options.prefix ?? []), options.binary, ...args];
    const result = await run(program, rest);
    if (result.code !== 0) throw new EnrolmentFailed(`the agent could not enrol: ${result.output.trim()}`);
  } finally {
    rmSync(tokenFile, { force: true });
  }
}

export async function startAgent(options: LocalAgentOptions): Promise<void> {
  const { folder, ports, binary, supervisor, address = '127.0.0.1' } = options;
  const addresses = ['--https', `${address}:${ports.https}`, '--http', `${address}:${ports.http}`];
  const [command = '', ...prefixed] = [...(options.prefix ?? []), binary];
  await supervisor.start({
    name: options.name,
    command,
    args: [
      ...prefixed,
      'run',
      '--data',
      folder,
      ...addresses,
      ...(options.stopAppsOnExit ? ['--stop-apps-on-exit'] : []),
      ...(options.proofSeconds === undefined ? [] : ['--proof-seconds', String(options.proofSeconds)]),
      ...(options.args ?? []),
    ],
    env: {
      ...downloadEnvironment(),
      PATH: options.path,
      HOME: folder,
      TZ: 'UTC',
      RUST_LOG: process.env.RUST_LOG ?? 'info',
      ...options.environment,
    },
    cwd: folder,
    ready: options.connected,
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
}

/** True if a proxy of this folder outlived its `run`: it holds the ports, and the next `run` adopts it. */
export function hasLivingProxy(folder: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(join(folder, 'run/proxy.sock'));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/**
 * Environment variables of outbound access for builds: proxies, certificate authorities and registries.
 * agents/crates/build passes them on.
 */
const DOWNLOAD_VARIABLES = [
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'GIT_SSL_CAINFO',
  'GOPROXY',
  'PIP_INDEX_URL',
  'UV_INDEX_URL',
  'NPM_CONFIG_REGISTRY',
  'npm_config_registry',
];

function downloadEnvironment(): Record<string, string> {
  const given = DOWNLOAD_VARIABLES.map((name) => [name, process.env[name] ?? ''] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}
