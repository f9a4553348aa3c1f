// Running phase of `npm start`: database, services, local agent, sample app, summary, and the orderly shutdown. Loaded
// after the builds, because it imports the generated database client.
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerSummary } from '@fairlead/core/server';
import { requestServed } from '@fairlead/outbound/served';
import { requestPinned } from '../lib/pinned-request.ts';
import { type Undo, undoAll } from '../lib/undo.ts';
import { waitFor } from '../lib/wait.ts';
import { openAppRuntime } from './app-runtime.ts';
import { ControlPlane } from './control-plane.ts';
import type { ChosenFolders } from './folders.ts';
import type { Installation, Programs } from './launch.ts';
import { enrolAgent, installAgent, isEnrolled, type LocalAgentOptions, startAgent } from './local-agent.ts';
import { localName } from './local-name.ts';
import { startRotation } from './log-rotation.ts';
import type { Options } from './options.mjs';
import { openProduct, type Product } from './product.ts';
import type { Progress } from './progress.ts';
import { deploySample, measureSample, SAMPLE_HOST, type SampleOptions } from './sample.ts';
import { servedUrl } from './served-url.ts';
import { shareAuthorities } from './service-user.ts';
import { refreshMirror, SOURCE_BRANCH, sourceName } from './source-mirror.ts';
import { type SourceServer, serveSource } from './source-repository.ts';
import type { StartSettings } from './start-settings.ts';
import { formatSummary, type SampleSummary, type Summary } from './summary.ts';
import type { Supervisor } from './supervisor.ts';

export interface ServeOptions {
  readonly options: Options;
  readonly settings: StartSettings;
  readonly folders: ChosenFolders;
  readonly supervisor: Supervisor;
  readonly progress: Progress;
  readonly programs: Programs;
  readonly installation: Installation;
  /** True to serve the clone as a git repository and deploy the sample app from it. */
  readonly hasSample: boolean;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Signal that Ctrl-C aborts. */
  readonly signal: AbortSignal;
}

class ServeFailed extends Error {
  override readonly name = 'ServeFailed';
}

const AGENT = 'agent';

/** Runs until the signal; stops everything it started before it resolves or rejects. */
export async function serve(context: ServeOptions): Promise<void> {
  const { folders, programs, progress, signal, supervisor } = context;
  const binary = join(folders.bin, 'fairlead-agent');
  const undo: Undo[] = [];
  try {
    const stopRotation = startRotation(folders.logs, progress.note);
    undo.push(async () => stopRotation());
    installAgent(programs.agentBinary, binary);
    const controlPlane = await progress.step('PostgreSQL and migrations', async () => {
      const { settings } = context;
      return ControlPlane.open({
        folders,
        ports: settings.ports,
        settings: settings.given,
        supervisor,
        agentBinary: programs.offeredAgents ?? binary,
        webServer: programs.webServer,
        ...context.installation,
      });
    });
    undo.push(() => controlPlane.stopDatabase());
    const product = await openProduct({
      databaseUrl: controlPlane.databaseUrl,
      organizationName: 'My organization',
      pools: controlPlane.pools,
      log: quietLog,
    });
    undo.push(() => product.close());
    signal.throwIfAborted();

    undo.push(() => controlPlane.stopServices());
    const source = context.hasSample ? await serveClone(context) : undefined;
    undo.push(async () => source?.close());
    await progress.step('gateway, worker and web', () => controlPlane.start());
    signal.throwIfAborted();

    const runtime = openAppRuntime(context.options.root, folders.runtime, isRoot());
    undo.push(() => supervisor.stop(AGENT));
    const server = await progress.step('local agent', () =>
      startLocalAgent(context, controlPlane, product, binary, runtime.path),
    );
    signal.throwIfAborted();

    const { publicCaFile } = controlPlane;
    if (publicCaFile !== undefined)
      await progress.step('answer under the public URL', () =>
        requirePublicAnswer(context, product, controlPlane.publicUrl, publicCaFile),
      );
    const { serviceUser } = context.installation;
    if (serviceUser !== undefined) shareAuthorities(folders, serviceUser);
    const app: SampleSummary =
      source === undefined ? { kind: 'none' } : await showSample(context, controlPlane, product, server, source);
    const setupToken = await product.rotateSetupToken();
    progress.note(
      formatSummary({
        publicUrl: controlPlane.publicUrl,
        controlUrl:
          controlPlane.controlHost === ''
            ? undefined
            : `https://${controlPlane.controlHost}:${context.settings.ports.https}`,
        settingsFile: context.settings.file,
        setupToken,
        publicAuthority:
          publicCaFile === undefined || !existsSync(publicCaFile) ? undefined : readAuthority(publicCaFile),
        app,
        folders: { data: folders.data, logs: folders.logs, caFile: caFile(context) },
        insteadOf: folders.insteadOf,
        copied: runtime.copied,
        isolationOff: server.host.isolationOff,
        elapsedMs: Date.now() - context.startedAt,
      }),
    );
    await aborted(signal);
  } finally {
    await progress.step('stopping', async (detail) => {
      detail(`${context.options.keepApps ? '' : 'apps, '}agent, worker, gateway, web, PostgreSQL`);
      await undoAll(undo);
    });
  }
}

async function serveClone({ folders, options, settings }: ServeOptions): Promise<SourceServer> {
  const name = sourceName(folders.source);
  await refreshMirror(options.root, folders.source, name);
  return serveSource({
    port: settings.ports.source,
    folder: folders.source,
    // Refresh the mirror, so that Deploy builds the latest commit.
    refresh: () => refreshMirror(options.root, folders.source, name),
  });
}

async function startLocalAgent(
  context: ServeOptions,
  controlPlane: ControlPlane,
  product: Product,
  binary: string,
  path: string,
): Promise<ServerSummary> {
  const { folders, settings, supervisor, signal } = context;
  const listServers = async () => (await product.verbs.listServers()).items;
  const findServer = async () => (await listServers()).find((server) => server.isLocal);
  const proof = process.env.FAIRLEAD_AGENT_PROOF_SECONDS;
  const agent: LocalAgentOptions = {
    name: AGENT,
    binary,
    folder: folders.agent,
    ports: settings.ports,
    // Every address, of both IP versions.
    address: servedUrl(settings.given) === undefined ? '127.0.0.1' : '[::]',
    path,
    controlUrl: controlPlane.gatewayUrl.replace(/^http/, 'ws'),
    supervisor,
    connected: async () => (await findServer())?.state === 'online',
    stopAppsOnExit: !context.options.keepApps,
    ...(proof === undefined ? {} : { proofSeconds: Number(proof) }),
  };
  const known = await findServer();
  if (known !== undefined && !isEnrolled(folders.agent)) {
    throw new ServeFailed(
      `the database knows the server ${known.name}, but its agent's data is not in ${folders.agent}: start with the --data folder it was made with`,
    );
  }
  if (known === undefined) {
    const { token } = await product.verbs.createEnrolment({ name: localName(await listServers()), isLocal: true });
    await enrolAgent(agent, token);
  }
  await startAgent(agent);
  return waitFor(findServer, { what: 'the local server', timeoutMs: 5000, signal });
}

/** Deploys the sample app; its failure is reported and does not stop the rest. */
async function showSample(
  context: ServeOptions,
  controlPlane: ControlPlane,
  product: Product,
  server: ServerSummary,
  source: SourceServer,
): Promise<SampleSummary> {
  const { settings, progress, signal } = context;
  const sample: SampleOptions = {
    product,
    serverId: server.id,
    repositoryUrl: source.url(sourceName(context.folders.source)),
    branch: SOURCE_BRANCH,
    hosts: { controlHost: controlPlane.controlHost, publicHost: new URL(controlPlane.publicUrl).hostname },
    signal,
  };
  try {
    const deployment = await progress.step('sample app', (detail) => deploySample(sample, detail));
    if (deployment.state !== 'live' && !deployment.isCurrent) {
      return {
        kind: 'down',
        reason: deployment.failureMessage ?? `the sample app's last deployment is ${deployment.state}`,
      };
    }
    await progress.step('answer through the proxy', () => requireAnswer(context));
    const benchmark = await progress.step('benchmark', (detail) => measureSample(sample, deployment.appId, detail));
    return { kind: 'live', url: `http://${SAMPLE_HOST}:${settings.ports.http}`, deployment, benchmark };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'down', reason: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * The local agent creates the URL's authority and certificate when it gets the route. A domain of the dashboard has an ordered
 * certificate instead.
 */
async function requirePublicAnswer(
  { settings, signal }: ServeOptions,
  product: Product,
  publicUrl: string,
  caFile: string,
): Promise<void> {
  const request = { host: bareHost(publicUrl), port: settings.ports.https, path: '/healthz' };
  const answersWith = (asked: Promise<number>) =>
    asked.then(
      (status) => status === 200,
      () => false,
    );
  await waitFor(
    async () => {
      const leaf = await product.verbs.findServedLeaf(request.host);
      if (leaf !== null && (await answersWith(requestServed({ ...request, leaf })))) return true;
      return existsSync(caFile) && answersWith(requestPinned({ ...request, caFile }).then(({ status }) => status));
    },
    { what: `an answer of ${publicUrl} on this machine`, timeoutMs: 20_000, signal },
  );
}

/** Returns the host of a URL, an IPv6 address without its brackets. */
function bareHost(url: string): string {
  return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
}

function readAuthority(file: string): Summary['publicAuthority'] {
  return { file, fingerprint: new X509Certificate(readFileSync(file)).fingerprint256 };
}

async function requireAnswer(context: ServeOptions): Promise<void> {
  const { settings, signal } = context;
  const request = { host: SAMPLE_HOST, port: settings.ports.https, path: '/healthz', caFile: caFile(context) };
  await waitFor(
    () =>
      requestPinned(request).then(
        ({ status }) => status === 200,
        () => false,
      ),
    { what: `an answer of https://${SAMPLE_HOST}`, timeoutMs: 20_000, signal },
  );
}

function caFile({ folders }: ServeOptions): string {
  return join(folders.agent, 'ca/ca.pem');
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

async function aborted(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await delay(2 ** 30, undefined, { signal }).catch(() => undefined);
}

/** Log of the API verbs; the services log to files. */
const quietLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: (fields: object, message: string) => console.error(message, fields),
  error: (fields: object, message: string) => console.error(message, fields),
};
