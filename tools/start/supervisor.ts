// Supervises the control plane's processes: starts each in its own group, logs its output, restarts it with growing
// backoff, and records pid and start time. Invariant: never ends a process that it did not start or find in that
// record.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { endProcess, identityOf, isAlive, type ProcessIdentity } from '../lib/process-identity.ts';
import { waitFor } from '../lib/wait.ts';

export interface Service {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Returns true once the service is ready. */
  readonly ready: () => Promise<boolean>;
  readonly readyTimeoutMs: number;
  /** User that it runs as. Default: that of the supervisor. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Runs before each start of the process. */
  readonly prepare?: () => void;
  /** Grace period after SIGTERM in milliseconds. */
  readonly stopTimeoutMs: number;
}

interface Supervised {
  readonly service: Service;
  child: ChildProcess | undefined;
  stopping: boolean;
  restarts: number;
  startedAt: number;
}

export interface SupervisorOptions {
  readonly logDir: string;
  readonly recordFile: string;
  readonly note: (line: string) => void;
}

/** Error for a service that ended before it was ready; `message` contains the last lines of its log. */
export class ServiceFailed extends Error {}

const BACKOFF_MIN_MS = 500;
const BACKOFF_MAX_MS = 15_000;
/** Uptime that resets the restart backoff. */
const STABLE_AFTER_MS = 60_000;
const LOG_TAIL_LINES = 12;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #services = new Map<string, Supervised>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    mkdirSync(options.logDir, { recursive: true, mode: 0o700 });
    mkdirSync(dirname(options.recordFile), { recursive: true, mode: 0o700 });
  }

  /** Starts a service and resolves when it is ready. From then on it is restarted whenever it ends. */
  async start(service: Service): Promise<void> {
    const supervised: Supervised = { service, child: undefined, stopping: false, restarts: 0, startedAt: 0 };
    this.#services.set(service.name, supervised);
    let ended = false;
    this.#spawn(supervised, () => {
      ended = true;
    });
    await waitFor(
      async () => {
        if (await service.ready()) return true;
        if (ended) throw new ServiceFailed(`${service.name} ended while starting. ${this.#tail(service.name)}`);
        return undefined;
      },
      { what: `${service.name} to be ready`, timeoutMs: service.readyTimeoutMs },
    ).catch((error: Error) => {
      throw error instanceof ServiceFailed ? error : new ServiceFailed(`${error.message}. ${this.#tail(service.name)}`);
    });
    supervised.child?.once('exit', (code, signal) => this.#restart(supervised, code, signal));
    if (ended) this.#restart(supervised, null, null);
  }

  pid(name: string): number | undefined {
    const child = this.#services.get(name)?.child;
    return child?.exitCode === null && child.signalCode === null ? child.pid : undefined;
  }

  logFile(name: string): string {
    return join(this.#options.logDir, `${name}.log`);
  }

  /** Stops one service for good. */
  async stop(name: string): Promise<void> {
    const supervised = this.#services.get(name);
    if (supervised === undefined) return;
    supervised.stopping = true;
    const pid = supervised.child?.pid;
    const identity = pid === undefined ? undefined : identityOf(pid);
    if (identity !== undefined) await endProcess(identity, 'SIGTERM', supervised.service.stopTimeoutMs);
    this.#services.delete(name);
    this.#record();
  }

  #spawn(supervised: Supervised, onEnd: (code: number | null, signal: NodeJS.Signals | null) => void): void {
    const { service } = supervised;
    service.prepare?.();
    // Appends, which the rotation of the log needs.
    const log = openSync(this.logFile(service.name), 'a', 0o600);
    const child = spawn(service.command, service.args, {
      cwd: service.cwd,
      env: service.env,
      detached: true,
      ...service.user,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    supervised.child = child;
    supervised.startedAt = performance.now();
    child.once('error', (error) => this.#options.note(`${service.name} could not be started: ${error.message}`));
    child.once('exit', onEnd);
    this.#record();
  }

  #restart(supervised: Supervised, code: number | null, signal: NodeJS.Signals | null): void {
    const { service } = supervised;
    if (supervised.stopping) return;
    if (performance.now() - supervised.startedAt > STABLE_AFTER_MS) supervised.restarts = 0;
    const pauseMs = Math.min(BACKOFF_MIN_MS * 2 ** supervised.restarts, BACKOFF_MAX_MS);
    supervised.restarts++;
    const how = signal === null ? `with code ${code}` : `by ${signal}`;
    this.#options.note(
      `${service.name} ended ${how}; starting it again in ${pauseMs} ms (log: ${this.logFile(service.name)})`,
    );
    void delay(pauseMs).then(() => {
      if (!supervised.stopping)
        this.#spawn(supervised, (nextCode, nextSignal) => this.#restart(supervised, nextCode, nextSignal));
    });
  }

  #tail(name: string): string {
    const lines = readFileSync(this.logFile(name), 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES);
    return `The end of ${this.logFile(name)}:\n${lines.join('\n')}`;
  }

  #record(): void {
    const processes: Record<string, ProcessIdentity> = {};
    for (const [name, { child }] of this.#services) {
      const identity = child?.pid === undefined ? undefined : identityOf(child.pid);
      if (identity !== undefined) processes[name] = identity;
    }
    try {
      writeRecord(this.#options.recordFile, { supervisor: identityOf(process.pid), processes });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      // The services must outlast a full disk. After a crash in that time, the next start does not find the newest ones.
      this.#options.note('the disk is full: the record of running processes was not written');
    }
  }
}

const identitySchema = z.object({ pid: z.int().positive(), startTicks: z.string() });
const recordSchema = z.object({
  supervisor: identitySchema.optional(),
  processes: z.record(z.string(), identitySchema),
});
type ProcessRecord = z.infer<typeof recordSchema>;

export type Leftovers =
  | { readonly kind: 'none' }
  | { readonly kind: 'running'; readonly supervisor: ProcessIdentity }
  | { readonly kind: 'ended'; readonly names: readonly string[] };

/** Ends the processes of a killed supervisor; reports when a running one still owns the folder. */
export async function endLeftovers(recordFile: string): Promise<Leftovers> {
  const record = readRecord(recordFile);
  if (record === undefined) return { kind: 'none' };
  if (record.supervisor !== undefined && record.supervisor.pid !== process.pid && isAlive(record.supervisor)) {
    return { kind: 'running', supervisor: record.supervisor };
  }
  const living = Object.entries(record.processes).filter(([, identity]) => isAlive(identity));
  await Promise.all(living.map(([, identity]) => endProcess(identity, 'SIGTERM', 15_000)));
  rmSync(recordFile, { force: true });
  return living.length === 0 ? { kind: 'none' } : { kind: 'ended', names: living.map(([name]) => name) };
}

/** Undefined: it was never written, or a crash or a full disk damaged it. */
function readRecord(file: string): ProcessRecord | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

function writeRecord(file: string, record: ProcessRecord): void {
  writeFileSync(`${file}.new`, JSON.stringify(record, null, 2), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
