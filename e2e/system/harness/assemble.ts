// Assembles a System: folders, ports, control plane, agent and repositories, each with its clean-up.
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerSummary } from '@fairlead/core/server';
import type { Given } from '@fairlead/settings';
import { ROOT } from '../../../tools/lib/command.ts';
import { freePorts } from '../../../tools/lib/free-ports.ts';
import type { Undo } from '../../../tools/lib/undo.ts';
import { openAppRuntime } from '../../../tools/start/app-runtime.ts';
import { WEB_SERVER } from '../../../tools/start/builds.ts';
import { ControlPlane } from '../../../tools/start/control-plane.ts';
import { type Folders, layOut, openData } from '../../../tools/start/folders.ts';
import { enrolAgent, installAgent, type LocalAgentOptions, startAgent } from '../../../tools/start/local-agent.ts';
import type { PortName } from '../../../tools/start/options.mjs';
import { openProduct, type Product } from '../../../tools/start/product.ts';
import { Supervisor } from '../../../tools/start/supervisor.ts';
import { type Repositories, serveRepositories } from './repository.ts';

export const AGENT_BINARY = process.env.FAIRLEAD_E2E_AGENT ?? join(ROOT, 'agents/target/debug/fairlead-agent');
export const AGENT = 'agent';

export interface SystemOptions {
  /** Starts a front for agents, for example a reverse proxy; they connect to it instead of the gateway. */
  readonly front?: (gatewayUrl: string, folder: string) => Promise<Front>;
  /** Parent folder of the system's own. Default: the folder for temporary files. */
  readonly parent?: string;
  /** True for durable PostgreSQL commits, which survive a kill. Slower. */
  readonly durable?: boolean;
  /** True starts the built dashboard and its API at `controlPlane.publicUrl`. */
  readonly dashboard?: boolean;
  /** Settings of the control plane that differ from their defaults. */
  readonly settings?: Given;
  /** Ports that are chosen already. */
  readonly ports?: Partial<Readonly<Record<PortName, number>>>;
  /** Address that the agent's proxy listens on. Default: loopback. */
  readonly address?: string;
  /** Options of the agent's `run` command. */
  readonly agentArgs?: readonly string[];
  /** Environment of the agent, beside the common variables. */
  readonly agentEnvironment?: Readonly<Record<string, string>>;
}

export interface Front {
  readonly url: string;
  readonly caFile: string;
  close(): Promise<void>;
}

export interface Parts {
  readonly folders: Folders;
  readonly ports: Readonly<Record<PortName, number>>;
  readonly controlPlane: ControlPlane;
  readonly product: Product;
  readonly supervisor: Supervisor;
  readonly repositories: Repositories;
  readonly agent: LocalAgentOptions;
}

export async function assemble(folder: string, options: SystemOptions, undo: Undo[]): Promise<Parts> {
  const own = layOut(join(folder, 'data'));
  // The cache of all tests, so that none compiles gateway and worker again.
  const folders = { ...own, compileCache: process.env.NODE_COMPILE_CACHE || own.compileCache };
  // PostgreSQL and the apps run as users of their own and need to pass through.
  chmodSync(folder, 0o711);
  openData(folders);
  // As `npm start` does: a compiler that runs beside the tests may replace the built file.
  const binary = join(folders.bin, 'fairlead-agent');
  installAgent(AGENT_BINARY, binary);
  const ports = { ...(await freePorts()), ...options.ports };
  const supervisor = new Supervisor({ logDir: folders.logs, recordFile: folders.record, note: console.log });
  const controlPlane = await ControlPlane.open({
    folders,
    ports,
    // No test may reach a public certificate authority.
    settings: { FAIRLEAD_ACME_DIRECTORY_URL: '', ...options.settings },
    supervisor,
    agentBinary: binary,
    webServer: options.dashboard === true ? WEB_SERVER : undefined,
    unsafeButFast: options.durable !== true,
  });
  undo.push(() => controlPlane.stopDatabase());
  const product = await openProduct({
    databaseUrl: controlPlane.databaseUrl,
    organizationName: 'Test',
    log: silentLog,
  });
  undo.push(() => product.close());
  undo.push(() => controlPlane.stopServices());
  await controlPlane.start();
  const front = await options.front?.(controlPlane.gatewayUrl, folder);
  if (front !== undefined) undo.push(() => front.close());
  const agent: LocalAgentOptions = {
    name: AGENT,
    binary,
    folder: folders.agent,
    ports,
    ...(options.address === undefined ? {} : { address: options.address }),
    args: options.agentArgs ?? [],
    environment: options.agentEnvironment ?? {},
    path: openAppRuntime(ROOT, folders.runtime, process.getuid?.() === 0).path,
    controlUrl: front?.url ?? controlPlane.gatewayUrl,
    ...(front === undefined ? {} : { controlCaFile: front.caFile }),
    supervisor,
    connected: async () => (await findServer(product))?.state === 'online',
    stopAppsOnExit: true,
    proofSeconds: 3,
  };
  const { token } = await product.verbs.createEnrolment({ name: 'local', isLocal: true });
  await enrolAgent(agent, token);
  undo.push(() => supervisor.stop(AGENT));
  await startAgent(agent);
  const repositories = await serveRepositories(join(folder, 'repositories'), ports.source);
  undo.push(() => repositories.close());
  return { folders, ports, controlPlane, product, supervisor, repositories, agent };
}

export async function findServer(product: Product): Promise<ServerSummary | undefined> {
  return (await product.verbs.listServers()).items.find((server) => server.isLocal);
}

/** Log of the API verbs; the services log to files. */
export const silentLog = { debug: () => undefined, info: () => undefined, warn: console.error, error: console.error };
