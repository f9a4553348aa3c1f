// The gateway's calls to the control plane, each one transaction around a verb of core.
// Invariant: it makes no decision about access; core does.
import { randomBytes } from 'node:crypto';
import type { Enrol, Hello, Push, Report } from '@fairlead/contract/agent';
import type { AppLogQuery } from '@fairlead/contract/app-log';
import { AppError } from '@fairlead/contract/errors';
import type { OrganizationId, ServerId } from '@fairlead/contract/ids';
import type { LiveTopic } from '@fairlead/contract/live';
import { hashTransferToken } from '@fairlead/core/artifact';
import type { AcmeOptions } from '@fairlead/core/certificate';
import { type ControlRoute, prepareDesiredState } from '@fairlead/core/desired-state';
import { type AppLinks, domainUrl } from '@fairlead/core/domain';
import type { Clock, Log, OrganizationCtx, SystemCtx } from '@fairlead/core/kernel';
import { type RecordedPushes, recordPushes, recordReport } from '@fairlead/core/link';
import { requireTopics } from '@fairlead/core/live';
import { type LogStore, listLogServers } from '@fairlead/core/log';
import { createSecretSealer, type SecretKeys } from '@fairlead/core/secret';
import {
  acceptEnrolment,
  closeSession,
  findSessionServer,
  getDesiredVersions,
  hasServer,
  openSession,
  touchSession,
} from '@fairlead/core/server';
import type { Database } from '@fairlead/db';
import { createStateCache, type SignedStateBytes } from '../desired/state-cache.ts';
import type { SigningKey } from '../signing/key-store.ts';
import type { ClockEstimate } from './clock-estimate.ts';
import type { Version } from './version.ts';

/** Server connected to this gateway; `connection` names this one connection. */
export interface ConnectedServer {
  readonly serverId: ServerId;
  readonly organizationId: OrganizationId;
  readonly publicKey: Uint8Array;
  readonly connection: string;
}

export interface OpenedSession {
  readonly desired: Version;
  readonly pushAckedSequence: bigint;
  readonly clockOffsetMs: number;
  /** Authenticates artifact transfers while this session lasts. */
  readonly transferToken: string;
}

export interface EnrolledServer {
  readonly serverId: string;
  readonly serverName: string;
  readonly signingKeys: { readonly keyId: string; readonly publicKey: Uint8Array }[];
}

export interface Control {
  enrol(request: Enrol, ip: string | null): Promise<EnrolledServer>;
  find(serverId: string): Promise<ConnectedServer | null>;
  open(server: ConnectedServer, hello: Hello, ip: string | null): Promise<OpenedSession>;
  /** Throws link.replaced when another connection has taken over the agent. */
  touch(server: ConnectedServer, clock: ClockEstimate & { readonly offsetMs: number }): Promise<void>;
  close(server: ConnectedServer): Promise<void>;
  signedState(server: ConnectedServer): Promise<SignedStateBytes>;
  recordReport(server: ConnectedServer, report: Report): Promise<void>;
  recordPushes(server: ConnectedServer, pushes: readonly Push[], clockOffsetMs: number): Promise<RecordedPushes>;
  readVersions(serverIds: readonly string[]): Promise<ReadonlyMap<string, Version>>;
  /** Returns the queried servers on which the app is placed in that environment. */
  listLogServers(query: AppLogQuery): Promise<ReadonlySet<string>>;
  /** True if the server belongs to the organization. */
  hasServer(server: { readonly organizationId: OrganizationId; readonly serverId: ServerId }): Promise<boolean>;
  requireTopics(organizationId: OrganizationId, topics: readonly LiveTopic[]): Promise<void>;
}

export interface ControlOptions {
  readonly database: Database;
  readonly store: LogStore;
  readonly secretKeys: SecretKeys;
  readonly acme: AcmeOptions;
  readonly key: SigningKey;
  /** Keys that agents should pin, the signing key included. */
  readonly pinnedKeys: EnrolledServer['signingKeys'];
  readonly controlRoutes: readonly ControlRoute[];
  readonly links: AppLinks;
  /** Prefix of the names of this gateway's connections. */
  readonly connectionPrefix: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function createControl(options: ControlOptions): Control {
  const { database, store, clock, log } = options;

  function inSystem<T>(reason: string, work: (ctx: SystemCtx) => Promise<T>): Promise<T> {
    return database.system(reason, (tx) => work({ tx, clock, log }));
  }

  function inOrganization<T>(organizationId: OrganizationId, work: (ctx: OrganizationCtx) => Promise<T>): Promise<T> {
    return database.tenant(organizationId, (tx) => work({ tx, organizationId, clock, log }));
  }

  async function readVersions(serverIds: readonly string[]): Promise<ReadonlyMap<string, Version>> {
    return inSystem('gateway: desired versions', (ctx) => getDesiredVersions(ctx, { serverIds }));
  }

  const sealer = createSecretSealer(options.secretKeys);
  const states = createStateCache({
    key: options.key,
    readVersion: async (serverId) => {
      const version = (await readVersions([serverId])).get(serverId);
      if (version === undefined) throw new AppError('link.server_unknown', { serverId });
      return version;
    },
    render: (serverId) =>
      prepareDesiredState((work) => inSystem('gateway: sync', work), {
        serverId,
        controlRoutes: options.controlRoutes,
        urlOf: (route, onLocalServer) => domainUrl(route, onLocalServer, options.links),
        sealer,
        acme: options.acme,
      }),
  });

  return {
    enrol: async ({ token, publicKey, host, agentVersion, sealing }, ip) => {
      const accepted = await inSystem('gateway: enrol', (ctx) =>
        acceptEnrolment(ctx, { token, publicKey, host, agentVersion, sealing, ip }),
      );
      const { serverId, serverName } = accepted;
      return { serverId, serverName, signingKeys: options.pinnedKeys };
    },
    find: async (serverId) => {
      const server = await inSystem('gateway: hello', (ctx) => findSessionServer(ctx, { serverId }));
      if (server === null) return null;
      return { ...server, connection: `${options.connectionPrefix}${randomBytes(8).toString('hex')}` };
    },
    open: async ({ serverId, connection }, { agentVersion, capabilities, host, sealing }, ip) => {
      const transferToken = randomBytes(32).toString('base64url');
      const transferTokenHash = hashTransferToken(transferToken);
      const opened = await inSystem('gateway: open session', (ctx) =>
        openSession(ctx, { serverId, connection, agentVersion, capabilities, host, ip, sealing, transferTokenHash }),
      );
      return { ...opened, transferToken };
    },
    touch: ({ serverId, connection }, { offsetMs, offsetUs, uncertaintyUs }) =>
      inSystem('gateway: sign of life', (ctx) =>
        touchSession(ctx, {
          ...{ serverId, connection, clockOffsetMs: offsetMs },
          ...{ clockOffsetUs: offsetUs, clockUncertaintyUs: uncertaintyUs },
        }),
      ),
    close: async ({ serverId, connection }) => {
      states.forget(serverId);
      sealer.forget(serverId);
      await inSystem('gateway: close session', (ctx) => closeSession(ctx, { serverId, connection }));
    },
    signedState: ({ serverId }) => states.get(serverId),
    recordReport: async ({ serverId }, report) => {
      await inSystem('gateway: report', (ctx) => recordReport(ctx, { serverId, report }));
    },
    recordPushes: ({ serverId }, pushes, clockOffsetMs) =>
      inSystem('gateway: pushes', (ctx) => recordPushes(ctx, { serverId, pushes, clockOffsetMs, store })),
    readVersions,
    listLogServers: (query) => inOrganization(query.organizationId, (ctx) => listLogServers(ctx, query)),
    hasServer: (server) => inOrganization(server.organizationId, (ctx) => hasServer(ctx, server)),
    requireTopics: (organizationId, topics) => inOrganization(organizationId, (ctx) => requireTopics(ctx, { topics })),
  };
}
