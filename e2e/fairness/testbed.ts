// Processes of e2e/fairness: the app and its clients (a Go program), and the proxies in front of the app, each on one core.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../tools/lib/command.ts';
import { NGINX } from '../../tools/test/debian.ts';
import { configured, type Peer, type Program, type Running } from '../perf/peer.ts';
import { debian, goSource } from '../perf/peer-install.ts';
import { type ServingProcess, startServing, stopProcess } from '../perf/processes.ts';

export interface Testbed {
  /** The Go program. */
  readonly client: string;
  readonly folder: string;
  /** Holds `leaf.pem`, which is its own authority. */
  readonly certificate: string;
  readonly app: ServingProcess;
}

export function buildClient(): Promise<Program> {
  return goSource('fairness-client', join(import.meta.dirname, 'client'));
}

export async function startTestbed(folder: string): Promise<Testbed> {
  const client = await buildClient();
  const certificate = join(folder, 'certificate');
  mkdirSync(certificate);
  const made = await run(client.file, ['certificate', certificate]);
  if (made.code !== 0) throw new Error(made.output);
  return { client: client.file, folder, certificate, app: await startServing(client.file, ['app']) };
}

export function startPeer(testbed: Testbed, peer: Peer): Promise<Running> {
  const { folder, certificate, app } = testbed;
  return peer.obtain().then((program) => peer.start(program, { folder, certificate, app: app.address, clients: 0 }));
}

export async function stopAll(testbed: Testbed, running: readonly Running[]): Promise<void> {
  await Promise.all(running.map(({ child }) => stopProcess(child)));
  await stopProcess(testbed.app.child);
}

export function fairlead(agent: string): Peer {
  return configured({
    name: 'fairlead',
    speaks: ['http1', 'http2', 'http3'],
    obtain: async () => ({ file: agent, version: '' }),
    configs: ['fairlead-one-core.toml'],
    args: (config) => ['proxy', '--config', config],
    env: { RUST_LOG: 'warn' },
  });
}

/** Debian's build has no HTTP/3, so its HTTP/2 takes that place. */
export const NGINX_PEER: Peer = configured({
  name: 'nginx',
  speaks: ['http1', 'http2'],
  obtain: () => debian(NGINX.file, NGINX.packages, ['-v']),
  configs: ['nginx-one-core.conf'],
  args: (config, folder) => ['-c', config, '-p', folder],
});
