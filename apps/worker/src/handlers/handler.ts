// Interface of job handlers. A handler opens the scope of its job and calls one verb of core. Every handler may run
// twice: a worker can die between the commit and the book-keeping.

import { type JobName, type JobPayload, jobs } from '@fairlead/contract/jobs';
import type { ArtifactStore } from '@fairlead/core/artifact';
import type { BuildSlots } from '@fairlead/core/deployment';
import type { DnsClient } from '@fairlead/core/dns-provider';
import type { AppLinks } from '@fairlead/core/domain';
import type { ReadFeedFile } from '@fairlead/core/fairlead-update';
import type { Clock, Log } from '@fairlead/core/kernel';
import type { LogStore } from '@fairlead/core/log';
import type { SecretKeys } from '@fairlead/core/secret';
import type { Database } from '@fairlead/db';
import type { Github } from '@fairlead/github';
import type { Mailer } from '@fairlead/mail';
import type { probeAcmeDirectory, readRenewalInfo, registerAcmeAccount } from '@fairlead/outbound/acme';
import type { BackupMaker } from '../backup-process.ts';
import type { HostLookup } from '../host-lookup.ts';
import type { OrganizationTurns } from './organization-turns.ts';

export interface UpdateFeed {
  readonly readFeedFile: ReadFeedFile;
  readonly publicKeys: readonly string[];
}

/** Certificate authority of public domains. */
export interface AcmeParts {
  /** Its directory; empty: no certificates are ordered. */
  readonly directoryUrl: string;
  /** Authorities of the directory's own certificate, PEM; empty: the system's. */
  readonly caPem: string;
  /** Address that the authority may write to; empty: none. */
  readonly email: string;
  /** External account binding; null: the authority wants none. */
  readonly binding: { readonly keyId: string; readonly hmacKey: string } | null;
  readonly register: typeof registerAcmeAccount;
  readonly probe: typeof probeAcmeDirectory;
  readonly readRenewalInfo: typeof readRenewalInfo;
}

export interface HandlerParts {
  readonly database: Database;
  readonly logs: LogStore;
  readonly artifacts: ArtifactStore;
  /** Names this worker process in leases. */
  readonly workerId: string;
  readonly secretKeys: SecretKeys;
  readonly github: Github;
  /** Null if no mail server is configured. */
  readonly mailer: Mailer | null;
  /** Base URL of links in mails, without a trailing slash; null if not configured. It changes with the dashboard's domains. */
  readonly publicUrl: string | null;
  /** Port of this machine on which the local server's proxy serves the dashboard; absent: it does not. */
  readonly servedPort?: number;
  /** Ports of the local server's proxy, in links to its apps. */
  readonly links: AppLinks;
  readonly acme: AcmeParts;
  readonly dns: DnsClient;
  readonly hostLookup: HostLookup;
  readonly buildSlots: BuildSlots;
  readonly turns: OrganizationTurns;
  /** Null if no folder for backups is configured. */
  readonly backups: BackupMaker | null;
  /** Null without a feed of releases, and in a clone, which has no key to verify one. */
  readonly updates: UpdateFeed | null;
  /** Signals that the worker stops. Handlers that take long end then; the worker waits for the others. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

export type Handler<Name extends JobName> = (parts: HandlerParts, payload: JobPayload<Name>) => Promise<void>;
/** Maps every job to its handler: a job without one does not compile. */
export type Handlers = { readonly [Name in JobName]: Handler<Name> };

/** Parses the payload with the current schema, then runs the job's handler. */
export async function runJob<Name extends JobName>(
  handlers: Handlers,
  parts: HandlerParts,
  name: Name,
  payload: unknown,
): Promise<void> {
  const handler: Handler<Name> = handlers[name];
  await handler(parts, jobs[name].payload.parse(payload) as JobPayload<Name>);
}
