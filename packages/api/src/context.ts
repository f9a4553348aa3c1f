// Context of a request: its session and organization, each read once, and the process's parts.
// Invariant: it never decides a permission; the procedures do.

import type { Auth, Session } from '@fairlead/auth';
import type { ArtifactStore } from '@fairlead/core/artifact';
import type { CertificateConfig } from '@fairlead/core/certificate';
import type { ControlPlaneFacts } from '@fairlead/core/control-plane';
import type { DashboardFacts } from '@fairlead/core/dashboard-domain';
import type { BuildSlots } from '@fairlead/core/deployment';
import type { HostPolicy } from '@fairlead/core/domain';
import type { Clock, Log, SystemCtx } from '@fairlead/core/kernel';
import type { LogStore } from '@fairlead/core/log';
import type { ActiveMember } from '@fairlead/core/member';
import type { SecretKeys } from '@fairlead/core/secret';
import type { AgentOffer } from '@fairlead/core/server';
import type { TemplateId } from '@fairlead/core/template';
import type { ActiveToken } from '@fairlead/core/token';
import type { Database } from '@fairlead/db';
import type { Github } from '@fairlead/github';
import type { Mailer } from '@fairlead/mail';
import type { Outbound } from '@fairlead/outbound';
import type { DnsClient } from '@fairlead/outbound/dns';
import { bearerOf } from './bearer.ts';
import { clientAddress } from './client-address.ts';
import type { LiveSource } from './live-source.ts';
import type { OpenStreams } from './open-streams.ts';
import type { RateLimit } from './rate-limit.ts';

export interface AgentDownload {
  readonly url: string;
  /** Lower-case hex of the file's SHA-256. */
  readonly sha256: string;
  /** SHA-256 of the certificate authority that the script pins, as browsers show it; null if it pins none. */
  readonly caFingerprint: string | null;
}

/** The programs that servers may run instead of theirs. */
export interface AgentOffers {
  list(): Promise<readonly AgentOffer[]>;
  read(offer: AgentOffer): AsyncIterable<Uint8Array>;
}

export interface ApiConfig extends HostPolicy, CertificateConfig {
  /** The address people open, without a slash at its end: links in mails lead there. It changes with the dashboard's domains. */
  readonly publicUrl: string;
  /** Origins of all addresses that people open. */
  readonly origins: readonly string[];
  /** Ports of the local server's proxy. */
  readonly localHttpsPort: number;
  readonly localHttpPort: number;
  readonly buildSlots: BuildSlots;
  /** Addresses and networks of trusted reverse proxies; their X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** The script that installs the agent. Rejects when this control plane has no agent to offer. */
  agentDownload(): Promise<AgentDownload>;
  readonly agentOffers: AgentOffers;
  /** Packs the files of a template as a tar.gz. */
  readonly packTemplate: (template: TemplateId) => AsyncIterable<Uint8Array>;
  readonly controlPlane: ControlPlaneFacts;
  readonly dashboard: DashboardFacts;
}

/** Parts of the process, the same for every request. */
export interface ApiParts {
  readonly database: Database;
  readonly auth: Auth;
  readonly live: LiveSource;
  readonly streams: OpenStreams;
  readonly logs: LogStore;
  /** Store of uploaded folders. */
  readonly artifacts: ArtifactStore;
  readonly outbound: Outbound;
  readonly github: Github;
  readonly dns: DnsClient;
  /** Null: this control plane has no mail server. */
  readonly mail: Mailer | null;
  readonly secretKeys: SecretKeys;
  readonly rateLimit: RateLimit;
  readonly config: ApiConfig;
  readonly clock: Clock;
  readonly log: Log;
}

export interface RequestParts {
  readonly headers: Headers;
  /** The slug from the header or, for a stream, from its connection parameters. */
  readonly organizationSlug: string | null;
}

export interface ApiContext extends ApiParts {
  readonly headers: Headers;
  readonly organizationSlug: string | null;
  /** Client address; null without a trusted source. */
  readonly ip: string | null;
  /** The API token that came along; where there is one, it acts and no cookie counts. */
  readonly bearer: string | null;
  readonly session: () => Promise<Session | null>;
  /** Membership of the signed-in person in the requested organization; cached so that a batch loads it once. */
  readonly memo: { member?: Promise<ActiveMember | null>; token?: Promise<ActiveToken | null> };
}

export const organizationHeader = 'x-fairlead-organization';

export function createContext(parts: ApiParts, request: RequestParts): ApiContext {
  let session: Promise<Session | null> | undefined;
  return {
    ...parts,
    headers: request.headers,
    organizationSlug: request.organizationSlug,
    ip: clientAddress(request.headers, parts.config.trustedProxies),
    bearer: bearerOf(request.headers),
    session: () => {
      session ??= parts.auth.readSession(request.headers);
      return session;
    },
    memo: {},
  };
}

/** Opens system scope with a stated reason, for requests without an organization. */
export function inSystemScope<T>(ctx: ApiContext, reason: string, run: (core: SystemCtx) => Promise<T>): Promise<T> {
  return ctx.database.system(reason, (tx) => run({ tx, clock: ctx.clock, log: ctx.log }));
}
