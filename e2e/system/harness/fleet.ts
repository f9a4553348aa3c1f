// Additional servers of a system: each is an agent in a network namespace of its own, enrolled through an HTTPS front
// as a remote server would be.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerId } from '@fairlead/contract/ids';
import type { ServerSummary } from '@fairlead/core/server';
import { run } from '../../../tools/lib/command.ts';
import { freePort } from '../../../tools/lib/free-ports.ts';
import { type PinnedResponse, requestPinned } from '../../../tools/lib/pinned-request.ts';
import { type Undo, undoAll } from '../../../tools/lib/undo.ts';
import { waitFor } from '../../../tools/lib/wait.ts';
import { type Load, startLoad } from './load.ts';
import { type Namespace, type Network, openNetwork } from './network.ts';
import { startNginx } from './nginx.ts';
import type { System } from './system.ts';

export interface FleetServer {
  readonly id: ServerId;
  readonly name: string;
  /** Data folder of its agent. */
  readonly folder: string;
  /** Network namespace of the server; `cut` and `mend` are its link. */
  readonly namespace: Namespace;
  /** Address of its proxy's HTTPS. */
  readonly httpsAddress: string;
  summary(): Promise<ServerSummary>;
  /** Sends one request from outside, over the server's link. */
  get(host: string, path?: string): Promise<PinnedResponse>;
  /** Sends one request from the server itself, without its link; returns the body. */
  getInside(host: string, path?: string): Promise<string>;
  load(host: string): Load;
  /** Stops the agent's `run` as its service manager does: proxy and apps keep running. */
  stopAgent(): Promise<void>;
}

export interface Equipment {
  readonly environment: Readonly<Record<string, string>>;
  readonly undo: Undo;
}

export interface FleetPorts {
  readonly https: number;
  readonly http: number;
}

export interface Fleet {
  /** Returns the URL from which servers of the fleet clone a repository. */
  repositoryUrl(url: string): string;
  /**
   * Enrols a server; resolves when it is online. `equip` prepares its namespace first, and returns variables for the
   * agent.
   */
  addServer(
    name: string,
    equip?: (namespace: Namespace) => Promise<Equipment>,
    options?: { readonly stopAppsOnExit?: boolean; readonly ports?: FleetPorts },
  ): Promise<FleetServer>;
  close(): Promise<void>;
}

/** Rate limit of artifact downloads in bytes per second: an app of some megabytes takes seconds. */
const ARTIFACT_RATE = 6 * 1024 * 1024;

/** `given`: a network that is open already, and stays open. */
export async function openFleet(system: System, given?: Network): Promise<Fleet> {
  const undo: Undo[] = [];
  try {
    const network = given ?? (await openNetwork());
    if (given === undefined) undo.push(() => network.close());
    const source = { port: await freePort(), upstreamPort: system.sourcePort };
    const { gatewayUrl } = system.controlPlane;
    const front = await startNginx(gatewayUrl, join(system.dataFolder, 'fleet'), {
      address: network.address,
      source,
      artifactRate: ARTIFACT_RATE,
    });
    undo.push(() => front.close());
    return {
      repositoryUrl: (url) => url.replace(`127.0.0.1:${source.upstreamPort}`, `${network.address}:${source.port}`),
      async addServer(name, equip, { stopAppsOnExit = true, ports: wanted } = {}) {
        const namespace = await network.addNamespace();
        const equipment = await equip?.(namespace);
        if (equipment !== undefined) undo.push(equipment.undo);
        const folder = join(system.dataFolder, 'fleet', name);
        mkdirSync(folder, { recursive: true, mode: 0o711 });
        const ports = wanted ?? { https: await freePort(), http: await freePort() };
        const summary = () =>
          waitFor(async () => (await system.servers()).find((server) => server.name === name), {
            what: `the server ${name}`,
            timeoutMs: 5000,
          });
        const stop = await system.addAgent({
          name,
          folder,
          ports,
          address: namespace.address,
          prefix: namespace.prefix,
          environment: equipment?.environment ?? {},
          controlUrl: front.url,
          controlCaFile: front.caFile,
          stopAppsOnExit,
        });
        undo.push(stop);
        const caFile = join(folder, 'ca/ca.pem');
        const { address } = namespace;
        return {
          id: (await summary()).id,
          name,
          folder,
          namespace,
          httpsAddress: `${address}:${ports.https}`,
          summary,
          get: (host, path = '/') => requestPinned({ host, address, port: ports.https, path, caFile }),
          async getInside(host, path = '/') {
            const [program = '', ...args] = [...namespace.prefix, 'curl', '--silent', '--show-error', '--fail'];
            const at = `${host}:${ports.https}`;
            const resolve = ['--max-time', '10', '--cacert', caFile, '--resolve', `${at}:${address}`];
            const { code, output, stdout } = await run(program, [...args, ...resolve, `https://${at}${path}`]);
            if (code !== 0) throw new Error(`inside of ${name}: ${output}`);
            return stdout;
          },
          load: (host) => startLoad({ host, address, port: ports.https, caFile }),
          stopAgent: stop,
        };
      },
      close: () => undoAll(undo),
    };
  } catch (error) {
    await undoAll(undo);
    throw error;
  }
}
