// Interface of job handlers. A handler opens the scope of its job and calls one verb of core. Every handler may run
// twice: a worker can die between the commit and the book-keeping.

import { type JobName, type JobPayload, jobs } from '@fairlead/contract/jobs';
import type { ArtifactStore } from '@fairlead/core/artifact';
import type { BuildSlots } from '@fairlead/core/deployment';
import type { Clock, Log } from '@fairlead/core/kernel';
import type { LogStore } from '@fairlead/core/log';
import type { SecretKeys } from '@fairlead/core/secret';
import type { Database } from '@fairlead/db';
import type { Mailer } from '@fairlead/mail';
import type { BackupMaker } from '../backup-process.ts';

export interface HandlerParts {
  readonly database: Database;
  readonly logs: LogStore;
  readonly artifacts: ArtifactStore;
  /** Names this worker process in leases. */
  readonly workerId: string;
  readonly secretKeys: SecretKeys;
  /** Null if no mail server is configured. */
  readonly mailer: Mailer | null;
  /** Base URL of links in mails, without a trailing slash; null if not configured. */
  readonly publicUrl: string | null;
  /** Directory of the certificate authority; empty: no certificates are ordered. */
  readonly acmeDirectoryUrl: string;
  readonly buildSlots: BuildSlots;
  /** Null if no folder for backups is configured. */
  readonly backups: BackupMaker | null;
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
