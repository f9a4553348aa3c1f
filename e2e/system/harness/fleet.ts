// Servers beside the local one, each an agent in a network namespace of its own, enrolled at the control plane of a system
// through an HTTPS front as a server elsewhere would be. For whatever happens between servers.
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
import { type Namespace, openNetwork } from './network.ts';
import { startNginx } from './nginx.ts';
import type { System } from './system.ts';

export interface FleetServer {
  readonly id: ServerId;
  readonly name: string;
  /** Of its agent. */
  readonly folder: string;
  /** Its own address; `cut` and `mend` are its cable. */
  readonly namespace: Namespace;
  /** Address at which its proxy serves HTTPS. */
  readonly httpsAddress: string;
  summary(): Promise<ServerSummary>;
  /** One request from outside, over its link. */
  get(host: string, path?: string): Promise<PinnedResponse>;
  /** One request from the server itself, which needs no link; the body. */
  getInside(host: string, path?: string): Promise<string>;
  load(host: string): Load;
}

export interface Equipment {
  readonly environment: Readonly<Record<string, string>>;
  readonly undo: Undo;
}

export interface Fleet {
  /** Where servers of the fleet clone a repository of the system's from. */
  repositoryUrl(url: string): string;
  /** Enrols one more; resolves when it is online. `equip` gives it something first, and the agent variables to find it by. */
  addServer(name: string, equip?: (namespace: Namespace) => Promise<Equipment>): Promise<FleetServer>;
  close(): Promise<void>;
}

/** Of artifacts on their way to a server: an app of some megabytes takes seconds. */
const ARTIFACT_RATE = 6 * 1024 * 1024;

export async function openFleet(system: System): Promise<Fleet> {
  const undo: Undo[] = [];
  try {
    const network = await openNetwork();
    undo.push(() => network.close());
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
      async addServer(name, equip) {
        const namespace = await network.addNamespace();
        const equipment = await equip?.(namespace);
        if (equipment !== undefined) undo.push(equipment.undo);
        const folder = join(system.dataFolder, 'fleet', name);
        mkdirSync(folder, { recursive: true, mode: 0o711 });
        const ports = { https: await freePort(), http: await freePort() };
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
        };
      },
      close: () => undoAll(undo),
    };
  } catch (error) {
    await undoAll(undo);
    throw error;
  }
}
