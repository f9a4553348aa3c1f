// The agent of this machine: enrolled once with a single-use token that travels in a file, then kept running.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { run } from '../lib/command.ts';
import type { PortName } from './options.mjs';
import type { Supervisor } from './supervisor.ts';

export interface LocalAgentOptions {
  readonly name: string;
  readonly binary: string;
  /** The agent's own data folder. */
  readonly folder: string;
  readonly ports: Readonly<Pick<Record<PortName, number>, 'https' | 'http'>>;
  /** PATH of builds and apps. */
  readonly path: string;
  /** Where its proxy listens; loopback unless it says otherwise. */
  readonly address?: string;
  /** What the command begins with, for an agent in a namespace of its own; it must become the agent, not its parent. */
  readonly prefix?: readonly string[];
  /** Options of `run` beside those that every agent gets. */
  readonly args?: readonly string[];
  /** Beside what every agent gets. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly controlUrl: string;
  /** PEM of an authority to trust for it, beside the system's. */
  readonly controlCaFile?: string;
  readonly supervisor: Supervisor;
  /** True once the control plane sees the agent. */
  readonly connected: () => Promise<boolean>;
  /** Ends the apps too when the agent is stopped. */
  readonly stopAppsOnExit: boolean;
  /** How long an agent on trial must stay connected, where tests can't wait for the usual minute. */
  readonly proofSeconds?: number;
}

export class EnrolmentFailed extends Error {}

const READY_TIMEOUT_MS = 30_000;
/** Draining, stopping apps and closing the proxy. */
const STOP_TIMEOUT_MS = 45_000;

/** Copies the binary to where it runs from, so that building anew never touches a running one. */
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
      ...wayOut(),
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

/** A proxy of this folder outlived its `run`: it holds the ports, and the next `run` takes it over. */
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

/** How this machine reaches the world, for builds: proxies, authorities and registries, as agents/crates/build passes them on. */
const WAY_OUT = [
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

function wayOut(): Record<string, string> {
  const given = WAY_OUT.map((name) => [name, process.env[name] ?? ''] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}
