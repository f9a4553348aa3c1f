// Assembles the worker for main.ts and the tests. Claims jobs from the queue and runs their handlers.
import { type JobName, jobs } from '@fairlead/contract/jobs';
import type { ArtifactStore } from '@fairlead/core/artifact';
import { type BuildSlots, defaultBuildSlots } from '@fairlead/core/deployment';
import type { AppLinks } from '@fairlead/core/domain';
import { type Clock, type Log, systemClock } from '@fairlead/core/kernel';
import type { LogStore } from '@fairlead/core/log';
import type { SecretKeys } from '@fairlead/core/secret';
import type { Database } from '@fairlead/db';
import { createGithub, type Github } from '@fairlead/github';
import type { Mailer } from '@fairlead/mail';
import { createAddressGuard, createOutbound } from '@fairlead/outbound';
import { probeAcmeDirectory, readRenewalInfo, registerAcmeAccount } from '@fairlead/outbound/acme';
import { createDnsClient } from '@fairlead/outbound/dns';
import { defaultOf } from '@fairlead/settings';
import { Logger, run, type TaskList } from 'graphile-worker';
import type { BackupMaker } from './backup-process.ts';
import { type AcmeParts, type Handlers, runJob, type UpdateFeed } from './handlers/handler.ts';
import { handlers as allHandlers } from './handlers/index.ts';
import { createOrganizationTurns } from './handlers/organization-turns.ts';
import { createHostLookup } from './host-lookup.ts';
import { cronItems, startIntervals } from './schedule.ts';

export interface WorkerOptions {
  readonly database: Database;
  /** The queue opens connections of its own, one for each concurrent job. */
  readonly databaseUrl: string;
  readonly workerId: string;
  /** Store of deployment logs, which are deleted with their organization. */
  readonly logs: LogStore;
  readonly artifacts: ArtifactStore;
  readonly secretKeys: SecretKeys;
  /** Default: a client that calls public addresses only. */
  readonly github?: Github;
  readonly mailer?: Mailer | null;
  /** Read whenever a link is made. */
  readonly publicUrl?: string | null;
  /** Port of this machine on which the local server's proxy serves the dashboard. Default: it does not. */
  readonly servedPort?: number;
  /** Ports of the local server's proxy. Default: the usual ones. */
  readonly links?: AppLinks;
  readonly acme?: Partial<AcmeParts>;
  /** DNS servers that check records, and private addresses that checks may call. Default: the system's, and none. */
  readonly dns?: { readonly resolvers: readonly string[]; readonly allowed: readonly string[] };
  readonly concurrentJobs?: number;
  readonly buildSlots?: BuildSlots;
  /** Absent without a folder for backups. */
  readonly backups?: BackupMaker | null;
  /** Absent without a feed of releases. */
  readonly updates?: UpdateFeed | null;
  readonly log: Log;
  readonly clock?: Clock;
  readonly handlers?: Handlers;
}

export interface Worker {
  /** Waits for running jobs; returns a job that does not finish to the queue. */
  stop(): Promise<void>;
}

// Fallback poll: NOTIFY wakes the worker; polling finds missed notifications and jobs with a start time.
const pollIntervalMs = 2_000;
const stopTimeoutMs = 5_000;

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { database, workerId, secretKeys, logs, artifacts, log } = options;
  const handlers = options.handlers ?? allHandlers;
  const concurrentJobs = options.concurrentJobs ?? defaultOf('FAIRLEAD_WORKER_JOBS');
  const stopping = new AbortController();
  const clock = options.clock ?? systemClock;
  const { resolvers, allowed } = options.dns ?? { resolvers: [], allowed: [] };
  const acme = {
    directoryUrl: defaultOf('FAIRLEAD_ACME_DIRECTORY_URL'),
    caPem: '',
    email: '',
    binding: null,
    register: registerAcmeAccount,
    probe: probeAcmeDirectory,
    readRenewalInfo,
    ...options.acme,
  };
  const parts = {
    database,
    workerId,
    secretKeys,
    logs,
    artifacts,
    log,
    clock,
    github: options.github ?? createGithub({ outbound: createOutbound({ allowed: [] }), now: () => new Date() }),
    mailer: options.mailer ?? null,
    get publicUrl() {
      return options.publicUrl ?? null;
    },
    ...(options.servedPort === undefined ? {} : { servedPort: options.servedPort }),
    links: options.links ?? { localHttpsPort: 443, localHttpPort: 80 },
    acme,
    dns: createDnsClient({ resolvers, mayCall: createAddressGuard(allowed) }),
    hostLookup: createHostLookup({
      resolvers,
      allowed,
      acmeDirectoryUrl: acme.directoryUrl,
      acmeCaPem: acme.caPem,
      clock,
      log,
    }),
    buildSlots: options.buildSlots ?? defaultBuildSlots,
    turns: createOrganizationTurns({ log, stopping: stopping.signal }),
    backups: options.backups ?? null,
    updates: options.updates ?? null,
    stopping: stopping.signal,
  };
  const tasks: TaskList = Object.fromEntries(
    (Object.keys(jobs) as JobName[]).map((name) => [
      name,
      (payload: unknown) => runJob(handlers, parts, name, payload),
    ]),
  );
  const runner = await run({
    connectionString: options.databaseUrl,
    maxPoolSize: concurrentJobs,
    concurrency: concurrentJobs,
    pollInterval: pollIntervalMs,
    gracefulShutdownAbortTimeout: stopTimeoutMs,
    // main.ts handles signals.
    noHandleSignals: true,
    taskList: tasks,
    parsedCronItems: cronItems(),
    logger: queueLogger(log),
  });
  const stopIntervals = startIntervals((name) =>
    runJob(handlers, parts, name, {}).catch((error: unknown) => {
      log.error({ err: error, job: name }, 'a job failed; it runs again at its next interval');
    }),
  );
  let stopped: Promise<void> | null = null;
  async function stop(): Promise<void> {
    stopping.abort();
    await stopIntervals();
    await runner.stop();
  }
  return {
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** Forwards the queue's failures to the log and drops its routine messages. */
function queueLogger(log: Log): Logger {
  return new Logger((scope) => (level, message, meta) => {
    const fields = { ...meta, job: scope.taskIdentifier };
    if (level === 'error') log.error(fields, message);
    else if (level === 'warning') log.warn(fields, message);
    else log.debug(fields, message);
  });
}
