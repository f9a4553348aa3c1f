// Kill drill: kills one process at one step of a deployment under load, and reports the outcome of the deployment and
// the requests. Invariant: never proceeds by time alone; each step is held at a gate or seen in a report.
import type { AppId, DeploymentId } from '@fairlead/contract/ids';
import type { DeploymentDetail, StepName } from '@fairlead/core/deployment';
import { identityOf, isAlive } from '../../tools/lib/process-identity.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { gated } from '../system/harness/apps.ts';
import type { Gates } from '../system/harness/gates.ts';
import type { Load, LoadFailure } from '../system/harness/load.ts';
import type { Repository } from '../system/harness/repository.ts';
import type { System } from '../system/harness/system.ts';
import { kill, pidOf, type Victim } from './victims.ts';

/** Steps in the order of a deployment; `queue` waits behind another deployment. */
export const STEPS = ['queue', 'clone', 'build', 'pack', 'releasing', 'start', 'health', 'switch', 'drain'] as const;
export type KillStep = (typeof STEPS)[number];

export interface Kill {
  readonly victim: Victim;
  readonly step: KillStep;
}

export interface KillResult {
  /** Final state: live or failed; limbo if neither was reached before the timeout. */
  readonly ended: string;
  /** Failed requests that the killed process did not carry, and other deviations. */
  readonly failures: readonly string[];
  /** Failed requests that the killed process carried. */
  readonly carried: number;
}

const SLUG = 'killed';
const COPIES = 2;
const RELEASE_COMMAND = { command: ['node', 'release.js'], timeoutMs: 120_000 };
const BALLAST_BYTES = 150 * 1024 * 1024;
/** Time for the periodic sweep of overdue deployments; a queued one has no deadline of its own. */
const SWEEP_MS = 90_000;
const WAITING_MS = 180_000;
const FINISHED = new Set(['live', 'failed', 'cancelled', 'superseded']);

export class KillDrill {
  readonly #system: System;
  readonly #gates: Gates;
  readonly #repository: Repository;
  readonly #appId: AppId;
  readonly #load: Load;
  #newest = 0;
  /** Version that must be live. */
  #serving = 0;

  private constructor(system: System, gates: Gates, repository: Repository, appId: AppId) {
    this.#system = system;
    this.#gates = gates;
    this.#repository = repository;
    this.#appId = appId;
    this.#load = system.load(SLUG);
  }

  static async start(system: System, gates: Gates): Promise<KillDrill> {
    for (const name of ['build/0', 'start/0', 'healthy/0']) gates.open(name);
    const repository = await system.repositories.create(SLUG, gated(textOf(0), gatesOf(gates, 0, 0)));
    const { appId, state, failureMessage } = await system.createApp(SLUG, repository, '/up');
    if (state !== 'live') throw new Error(`the first deployment failed: ${failureMessage}`);
    await system.product.verbs.scaleApp({ appId, instances: COPIES });
    const drill = new KillDrill(system, gates, repository, appId);
    await drill.#settled();
    return drill;
  }

  get requests(): number {
    return this.#load.result().requests;
  }

  async stop(): Promise<void> {
    await this.#load.stop();
  }

  async run({ victim, step }: Kill): Promise<KillResult> {
    await this.#settled();
    await this.#load.more(3);
    const before = this.#load.result().failures.length;
    const serving = this.#serving;
    const version = ++this.#newest;
    const held = step === 'drain' ? this.#hold() : undefined;
    if (held !== undefined) await this.#gates.arrived(`hold/${serving}`);
    // Follow the instance with the held request: any other one may end before it is inspected.
    const oldPid = held === undefined ? (await this.#pids())[0] : this.#gates.lastAt(`hold/${serving}`);
    if (oldPid === undefined) throw new Error('no instance of the old release was seen');
    this.#close(step, version);
    if (step === 'releasing') await this.#setReleaseCommand(RELEASE_COMMAND);
    const ballastBytes = step === 'pack' || step === 'start' ? BALLAST_BYTES : 0;
    await this.#repository.commit(textOf(version), gated(textOf(version), gatesOf(this.#gates, version, ballastBytes)));
    const deploymentId = await this.#begin(step, version);
    const app = await this.#reach(step, deploymentId, version, oldPid);

    const pid = await pidOf(this.#system, victim, app);
    const appIdentity = victim === 'shim' ? identityOf(app) : undefined;
    let goneAt: number;
    if (step === 'switch') {
      // Last externally visible moment before the agent switches the routes.
      this.#gates.open(`start/${version}`);
      await this.#gates.arrived(`healthy/${version}`, COPIES);
    }
    goneAt = await kill(pid);
    if (appIdentity !== undefined) {
      // An instance does not outlive its parent: it ends too, and is replaced.
      await waitFor(() => !isAlive(appIdentity), { what: 'the end of the orphaned instance', timeoutMs: 30_000 });
      goneAt = performance.now();
    }
    this.#openAll(version, serving);
    if (step === 'releasing') await this.#withDatabase(() => this.#setReleaseCommand(null));

    const ended = await this.#ended(deploymentId);
    const failures: string[] = [];
    await this.#settled().catch((error: Error) => failures.push(error.message));
    if (await this.#wentLive(version)) this.#serving = version;
    const { body, status } = await this.#system.get(SLUG);
    if (body !== textOf(this.#serving))
      failures.push(`${status} ${JSON.stringify(body)} serves, not ${textOf(this.#serving)}`);
    await this.#load.more(3);
    const lost: LoadFailure[] = this.#load.result().failures.slice(before);
    const heldFailure = await held;
    this.#gates.shut(`hold/${this.#serving}`);
    if (heldFailure !== undefined) lost.push(heldFailure);
    const carried = lost.filter((failure) => isCarried(victim, failure, goneAt));
    failures.push(
      ...lost
        .filter((failure) => !carried.includes(failure))
        .map(
          ({ kind, reason, startedAt }) =>
            `${kind}: ${reason}, begun ${Math.round(startedAt - goneAt)} ms after the death`,
        ),
    );
    if (ended.state !== 'live' && ended.state !== 'failed')
      return { ended: 'limbo', failures, carried: carried.length };
    const why = ended.state === 'failed' ? `failed (${ended.failureCode})` : 'live';
    return { ended: why, failures, carried: carried.length };
  }

  /** Closes the gates that hold the deployment at the step. */
  #close(step: KillStep, version: number): void {
    if (step === 'clone') this.#system.repositories.holdClones(() => this.#gates.pass(`clone/${version}`));
    if (step !== 'queue' && step !== 'build') this.#gates.open(`build/${version}`);
    if (step !== 'health' && step !== 'switch') this.#gates.open(`start/${version}`);
    // Only a signal: the app does not wait at this gate.
    this.#gates.open(`healthy/${version}`);
  }

  #openAll(version: number, serving: number): void {
    this.#system.repositories.holdClones(undefined);
    for (const name of ['clone', 'build', 'release', 'start']) this.#gates.open(`${name}/${version}`);
    this.#gates.open(`hold/${serving}`);
    // The held request is retried on another instance if its own was killed.
    this.#gates.open(`hold/${version}`);
  }

  async #setReleaseCommand(releaseCommand: typeof RELEASE_COMMAND | null): Promise<void> {
    await this.#system.product.verbs.updateConfig({ appId: this.#appId, settings: { releaseCommand } });
  }

  /** Retries until the database, which may have been killed, is back. */
  async #withDatabase(work: () => Promise<void>): Promise<void> {
    const done = () => read(() => work().then(() => true));
    await waitFor(done, { what: 'the database', timeoutMs: 60_000 });
  }

  async #begin(step: KillStep, version: number): Promise<DeploymentId> {
    const { verbs } = this.#system.product;
    const { deploymentId } = await verbs.createDeployment({ appId: this.#appId });
    if (step !== 'queue') return deploymentId;
    // The first deployment is held in its build; the test is about the one that waits behind it.
    await this.#gates.arrived(`build/${version}`);
    return (await verbs.createDeployment({ appId: this.#appId })).deploymentId;
  }

  /** Resolves when the step is reported; returns the instance with the shim to kill. */
  async #reach(step: KillStep, deploymentId: DeploymentId, version: number, oldPid: number): Promise<number> {
    const name: StepName = step === 'switch' ? 'health' : step === 'releasing' ? 'release' : step;
    await waitFor(
      async () => {
        const deployment = await this.#system.product.verbs.getDeployment({ deploymentId });
        if (FINISHED.has(deployment.state))
          throw new Error(`${deployment.state} before ${step}: ${deployment.failureMessage}`);
        return deployment.steps.some((each) => each.name === name && each.state === 'running');
      },
      { what: `the report of ${step}`, timeoutMs: 120_000, everyMs: 10 },
    );
    if (step === 'build') await this.#gates.arrived(`build/${version}`);
    if (step === 'releasing') await this.#gates.arrived(`release/${version}`);
    if (step !== 'health' && step !== 'switch') return oldPid;
    await this.#gates.arrived(`start/${version}`, COPIES);
    return waitFor(
      async () => {
        const { instances, liveRelease } = await this.#system.app(SLUG);
        return instances.find(({ releaseId, pid }) => releaseId !== liveRelease?.id && pid !== null)?.pid ?? undefined;
      },
      { what: 'a new instance in the report', timeoutMs: 30_000 },
    );
  }

  /** Waits through an outage of the database, but never beyond the deployment's own timeout. */
  async #ended(deploymentId: DeploymentId): Promise<DeploymentDetail> {
    const beganAt = Date.now();
    const { product } = this.#system;
    let last: DeploymentDetail | undefined;
    return waitFor(
      async () => {
        const seen = await read(async () => ({
          deployment: await product.verbs.getDeployment({ deploymentId }),
          row: await product.database.tenant(product.organizationId, (tx) =>
            tx.deployment.findFirstOrThrow({ where: { id: deploymentId }, select: { deadlineAt: true } }),
          ),
        }));
        if (seen === undefined) return undefined;
        last = seen.deployment;
        if (FINISHED.has(last.state)) return last;
        const limit = seen.row.deadlineAt === null ? beganAt + WAITING_MS : seen.row.deadlineAt.getTime() + SWEEP_MS;
        return Date.now() > limit ? last : undefined;
      },
      { what: 'an answer of the control plane', timeoutMs: 30 * 60_000 },
    );
  }

  /**
   * Waits until the system is at rest before the next kill: in sync, all instances healthy, no deployment in progress.
   */
  async #settled(): Promise<void> {
    const { product } = this.#system;
    await waitFor(
      () =>
        read(async () => {
          const server = await this.#system.server();
          const { items } = await product.verbs.listDeployments({ appId: this.#appId, limit: 5 });
          const { instances } = await this.#system.app(SLUG);
          const isWell = instances.length === COPIES && instances.every(({ state }) => state === 'healthy');
          return (
            server.state === 'online' && server.inSync && isWell && items.every(({ state }) => FINISHED.has(state))
          );
        }),
      { what: `the server in sync and ${COPIES} healthy instances`, timeoutMs: 120_000 },
    );
  }

  /** True if a deployment of this version went live; a queued step has two deployments of one version. */
  async #wentLive(version: number): Promise<boolean> {
    const { items } = await this.#system.product.verbs.listDeployments({ appId: this.#appId, limit: 5 });
    return items.some(({ state, commitSubject }) => state === 'live' && commitSubject === textOf(version));
  }

  async #pids(): Promise<readonly number[]> {
    return (await this.#system.app(SLUG)).instances.flatMap(({ pid }) => pid ?? []);
  }

  /** Sends a request that keeps the old release draining. Returns its failure, if any. */
  async #hold(): Promise<LoadFailure | undefined> {
    const startedAt = performance.now();
    try {
      const { status } = await this.#system.get(SLUG, '/hold', 60_000);
      if (status === 200) return undefined;
      return { kind: 'slow', reason: `status ${status}`, startedAt, connectedAt: startedAt };
    } catch (error) {
      return { kind: 'slow', reason: String(error), startedAt, connectedAt: startedAt };
    }
  }
}

/**
 * True if the killed process carried the request; only the proxy, by its connections, and a shim, by its app, carry
 * any.
 */
function isCarried(victim: Victim, { kind, connectedAt, startedAt }: LoadFailure, goneAt: number): boolean {
  if (victim === 'proxy') return connectedAt <= goneAt;
  // A WebSocket stays on one instance for its lifetime.
  return victim === 'shim' && (kind === 'websocket' ? connectedAt : startedAt) <= goneAt;
}

/** Returns undefined while the database is away. */
async function read<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isOutage(error)) return undefined;
    throw error;
  }
}

function isOutage(error: unknown): boolean {
  return /ECONNREFUSED|ECONNRESET|57P0|terminat|reach database|starting up|onnection/.test(String(error));
}

function textOf(version: number): string {
  return `version ${version}`;
}

function gatesOf(gates: Gates, version: number, ballastBytes: number) {
  return {
    build: gates.address(`build/${version}`),
    release: gates.address(`release/${version}`),
    start: gates.address(`start/${version}`),
    healthy: gates.address(`healthy/${version}`),
    hold: gates.address(`hold/${version}`),
    ballastBytes,
  };
}
