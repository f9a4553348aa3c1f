// Assembles the gateway for main.ts and the tests. Owns the order of starting and stopping.

import { type ArtifactStore, findTransfer, recordArtifact } from '@fairlead/core/artifact';
import type { AcmeOptions } from '@fairlead/core/certificate';
import { controlRoutes } from '@fairlead/core/desired-state';
import { type Clock, forOrganization, type Log, systemClock } from '@fairlead/core/kernel';
import type { LogStore } from '@fairlead/core/log';
import { prepareMetrics } from '@fairlead/core/metric';
import type { SecretKeys } from '@fairlead/core/secret';
import { bumpLocalServers, closeGatewaySessions } from '@fairlead/core/server';
import type { Database } from '@fairlead/db';
import { createArtifactEndpoint } from './artifact/artifact-endpoint.ts';
import type { ControlHost } from './control-hosts.ts';
import { watchDesired } from './desired/watch.ts';
import { createHttpServer } from './http-server.ts';
import { createLiveHub } from './live/hub.ts';
import { createInspectEndpoint } from './live/inspect-endpoint.ts';
import { createInspections } from './live/inspections.ts';
import { createLogEndpoint } from './live/log-endpoint.ts';
import { createLogQueries } from './live/log-queries.ts';
import { createLiveStreams } from './live/stream.ts';
import { createControl } from './session/control.ts';
import type { HandshakeLimits } from './session/handshake-share.ts';
import { createSessionRegistry } from './session/registry.ts';
import { startAgentSession } from './session/session.ts';
import { openSigningKeys } from './signing/open-signing-keys.ts';

export interface GatewayOptions {
  readonly database: Database;
  readonly store: LogStore;
  readonly artifacts: ArtifactStore;
  readonly signingKeyDir: string;
  readonly secretKeys: SecretKeys;
  /** Default: the authorities of each server's system, and no email address. */
  readonly acme?: AcmeOptions;
  /** Secret that the web process shares; authenticates requests to the internal endpoints. */
  readonly internalToken: string;
  /** Unique among gateways and stable across restarts. */
  readonly name: string;
  readonly host: string;
  /** Listen port; 0 picks a free one. */
  readonly port: number;
  /** Hosts under which the local server's proxy serves the control plane. */
  readonly controlHosts: readonly ControlHost[];
  /** Port on which the local server's proxy serves HTTPS. */
  readonly httpsPort: number;
  readonly httpPort: number;
  /** Addresses and networks of the operator's reverse proxies; their X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  readonly log: Log;
  readonly clock?: Clock;
  /** Time limit for the body of a request other than an artifact upload, in milliseconds. */
  readonly bodyTimeoutMs?: number;
}

export interface Gateway {
  readonly port: number;
  stop(): Promise<void>;
}

const tickMs = 1_000;
/** Requests of the web process are short, and it runs on the same machine or network. */
const bodyTimeoutMs = 10_000;
/**
 * Limits of unauthenticated connections: far above a thundering herd of real agents, also of many behind one address, and
 * far below the memory limit.
 */
const handshakeLimits: HandshakeLimits = { pendingMax: 256, networkMax: 64 };

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { database, log } = options;
  const clock = options.clock ?? systemClock;
  const connectionPrefix = `${options.name}#`;
  const { key, pinnedKeys } = await openSigningKeys(database, options.signingKeyDir, log, clock);
  await database.system('gateway: start', async (tx) => {
    const ctx = { tx, clock, log };
    await prepareMetrics(ctx);
    await closeGatewaySessions(ctx, { connectionPrefix });
    await bumpLocalServers(ctx);
  });

  const hub = createLiveHub();
  const queries = createLogQueries();
  const inspections = createInspections();
  const registry = createSessionRegistry((serverId) => {
    queries.drop(serverId);
    inspections.drop(serverId);
  });
  const control = createControl({
    database,
    store: options.store,
    secretKeys: options.secretKeys,
    acme: options.acme ?? { directoryCaPem: '', email: '' },
    key,
    pinnedKeys,
    controlRoutes: options.controlHosts.flatMap(controlRoutes),
    links: { localHttpsPort: options.httpsPort, localHttpPort: options.httpPort },
    connectionPrefix,
    clock,
    log,
  });
  const streams = createLiveStreams({
    token: options.internalToken,
    hub,
    requireTopics: control.requireTopics,
    log,
  });
  const artifacts = createArtifactEndpoint({
    store: options.artifacts,
    find: (query) => database.system('gateway: transfer', (tx) => findTransfer({ tx, clock, log }, query)),
    record: ({ organizationId, kind }, digest, sizeBytes) =>
      database.system('gateway: artifact', (tx) =>
        recordArtifact(forOrganization({ tx, clock, log }, organizationId), { digest, kind, sizeBytes }),
      ),
    log,
  });
  const logEndpoint = createLogEndpoint({
    isAllowed: streams.isAllowed,
    findServers: control.listLogServers,
    agentOf: registry.find,
    queries,
    log,
  });
  const inspectEndpoint = createInspectEndpoint({
    isAllowed: streams.isAllowed,
    hasServer: control.hasServer,
    agentOf: registry.find,
    inspections,
  });
  const server = createHttpServer({
    bodyTimeoutMs: options.bodyTimeoutMs ?? bodyTimeoutMs,
    streams,
    logEndpoint,
    inspectEndpoint,
    artifacts,
    trustedProxies: options.trustedProxies,
    hasRoom: (network) => registry.makeRoom(network, handshakeLimits),
    onAgent: (socket, connection, { ip, network }) =>
      registry.add(
        startAgentSession({
          socket,
          connection,
          ip,
          control,
          hub,
          clock,
          log,
          onOpen: registry.open,
          // Unclaimed lines were in flight when their query was cancelled: drop them.
          onLogLines: (serverId, lines) => void queries.answer(serverId, lines),
          onInspection: (serverId, inspection) => void inspections.answer(serverId, inspection),
        }),
        network,
      ),
    log,
  });
  const stopWatch = await watchDesired({
    database,
    serverIds: () => registry.serverIds,
    readVersions: control.readVersions,
    announce: registry.announce,
    onGone: registry.endServer,
    log,
  });
  const port = await server.listen(options.host, options.port);
  const ticker = setInterval(registry.tick, tickMs);
  log.info({ port, host: options.host, gateway: options.name }, 'ready');

  return {
    port,
    stop: async () => {
      clearInterval(ticker);
      await stopWatch();
      await registry.endAll('link.shutting_down');
      streams.close();
      logEndpoint.close();
      await server.close();
    },
  };
}
