// What a handler is and what it is given. A handler opens the scope that its job belongs to and calls one verb of core;
// decisions are the verb's. Every handler may run twice: a worker can die between the commit and the book-keeping.

import { type JobName, type JobPayload, jobs } from '@fairlead/contract/jobs';
import type { ArtifactStore } from '@fairlead/core/artifact';
import type { Clock, Log } from '@fairlead/core/kernel';
import type { LogStore } from '@fairlead/core/log';
import type { SecretKeys } from '@fairlead/core/secret';
import type { Database } from '@fairlead/db';
import type { Mailer } from '@fairlead/mail';

export interface HandlerParts {
  readonly database: Database;
  readonly logs: LogStore;
  readonly artifacts: ArtifactStore;
  /** Names this worker process in leases. */
  readonly workerId: string;
  readonly secretKeys: SecretKeys;
  /** Null: no mail server is named. */
  readonly mailer: Mailer | null;
  /** Where mails lead to, without a slash at its end; null: nowhere. */
  readonly publicUrl: string | null;
  readonly clock: Clock;
  readonly log: Log;
}

export type Handler<Name extends JobName> = (parts: HandlerParts, payload: JobPayload<Name>) => Promise<void>;
/** One handler for every job: a job without one does not compile. */
export type Handlers = { readonly [Name in JobName]: Handler<Name> };

/** Parses the payload as it is now defined, then runs the job's handler. */
export async function runJob<Name extends JobName>(
  handlers: Handlers,
  parts: HandlerParts,
  name: Name,
  payload: unknown,
): Promise<void> {
  const handler: Handler<Name> = handlers[name];
  await handler(parts, jobs[name].payload.parse(payload) as JobPayload<Name>);
}
