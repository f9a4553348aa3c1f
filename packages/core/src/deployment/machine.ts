// Owns the life of a deployment: queued → building → rolling_out → live, or failed, cancelled, superseded. Pure:
// it sees a state, an event and the time, and answers what is next. Must never touch rows, clocks or the network.
import type { ErrorCode } from '@fairlead/contract/errors';
import type { DeploymentState } from './schema.ts';

/** A connected agent starts work within seconds; this covers an agent that restarts. */
export const pickUpMs = 2 * 60_000;
/** What the server is given for a build, plus the way of its last words. */
export const buildMs = 17 * 60_000;
/** Unpacking, starting, health checks, switching and draining. */
export const rolloutMs = 6 * 60_000;

export interface Machine {
  readonly state: DeploymentState;
  /** False when it rolls out a release that exists. */
  readonly needsBuild: boolean;
  /** When the server last spoke of the work in this state; null before it took it up. */
  readonly heartbeatAt: Date | null;
  readonly deadlineAt: Date | null;
}

export interface Failure {
  /** Of the error table when it is ours, else what the agent said. */
  readonly code: string;
  /** A whole sentence that says what to do; null: the table's. */
  readonly message: string | null;
}

export type WorkOutcome =
  | { readonly kind: 'running' }
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'cancelled' };

export type DeploymentEvent =
  /**
   * A worker looks at it. `blocked`: another deployment of the same app and environment is under way, or nobody approved
   * it yet. `refusal`: why it cannot begin.
   */
  | {
      readonly kind: 'advance';
      readonly blocked: boolean;
      readonly artifactHere: boolean;
      readonly refusal?: Failure | null;
    }
  | { readonly kind: 'build'; readonly outcome: WorkOutcome }
  | { readonly kind: 'rollout'; readonly outcome: WorkOutcome }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'supersede' }
  | { readonly kind: 'overdue'; readonly serverConnected: boolean };

export type DeploymentAction =
  /** What the server should do has changed, or should be told again. */
  | 'bump_server'
  /** Make a release of what was built; the roll-out needs it. */
  | 'create_release'
  /** Its release is what the placement serves from now on. */
  | 'make_live'
  /** The next deployment in the queue may begin. */
  | 'start_next';

export interface Step {
  readonly machine: Machine;
  readonly failure: Failure | null;
  readonly actions: readonly DeploymentAction[];
}

export function isFinished(state: DeploymentState): boolean {
  return state === 'live' || state === 'failed' || state === 'cancelled' || state === 'superseded';
}

/** Events that do not fit the state change nothing: reports repeat, and late ones speak of work that is over. */
export function step(machine: Machine, event: DeploymentEvent, now: Date): Step {
  if (isFinished(machine.state)) return stay(machine);
  switch (event.kind) {
    case 'advance':
      return advance(machine, event, now);
    case 'build':
      return machine.state === 'building' ? work(machine, event.outcome, now, buildMs, built) : stay(machine);
    case 'rollout':
      return machine.state === 'rolling_out' ? work(machine, event.outcome, now, rolloutMs, rolledOut) : stay(machine);
    case 'cancel':
      return end(machine, 'cancelled', null);
    case 'supersede':
      return machine.state === 'queued' ? end(machine, 'superseded', null) : stay(machine);
    case 'overdue':
      return overdue(machine, event.serverConnected, now);
  }
}

function advance(machine: Machine, event: Extract<DeploymentEvent, { kind: 'advance' }>, now: Date): Step {
  // Under way already: the worker before this one died, or the server fell silent. Telling it again costs nothing.
  if (machine.state !== 'queued') return { machine, failure: null, actions: ['bump_server'] };
  if (event.blocked) return stay(machine);
  if (event.refusal) return end(machine, 'failed', event.refusal);
  if (machine.needsBuild) return { machine: enter(machine, 'building', now), failure: null, actions: ['bump_server'] };
  if (!event.artifactHere) return end(machine, 'failed', own('deployment.artifact_elsewhere'));
  return { machine: enter(machine, 'rolling_out', now), failure: null, actions: ['bump_server'] };
}

function work(
  machine: Machine,
  outcome: WorkOutcome,
  now: Date,
  limitMs: number,
  succeeded: (machine: Machine, now: Date) => Step,
): Step {
  switch (outcome.kind) {
    case 'running': {
      const deadlineAt = machine.heartbeatAt === null ? new Date(now.getTime() + limitMs) : machine.deadlineAt;
      return stay({ ...machine, heartbeatAt: now, deadlineAt });
    }
    case 'succeeded':
      return succeeded(machine, now);
    case 'failed':
      return end(machine, 'failed', outcome.failure);
    // Nobody here asked for it, or the deployment would be over: the server dropped the work by itself.
    case 'cancelled':
      return end(machine, 'failed', own('deployment.interrupted'));
  }
}

function built(machine: Machine, now: Date): Step {
  return {
    machine: enter(machine, 'rolling_out', now),
    failure: null,
    actions: ['create_release', 'bump_server'],
  };
}

function rolledOut(machine: Machine): Step {
  const { actions, ...ended } = end(machine, 'live', null);
  return { ...ended, actions: ['make_live', ...actions] };
}

function overdue(machine: Machine, serverConnected: boolean, now: Date): Step {
  if (machine.state === 'queued' || machine.deadlineAt === null || machine.deadlineAt > now) return stay(machine);
  if (!serverConnected) return end(machine, 'failed', own('deployment.server_offline'));
  return end(
    machine,
    'failed',
    own(machine.state === 'building' ? 'deployment.build_overdue' : 'deployment.rollout_overdue'),
  );
}

function enter(machine: Machine, state: 'building' | 'rolling_out', now: Date): Machine {
  return { ...machine, state, heartbeatAt: null, deadlineAt: new Date(now.getTime() + pickUpMs) };
}

function end(machine: Machine, state: DeploymentState, failure: Failure | null): Step {
  // A queued one is unknown to its server and blocks nobody.
  const actions: DeploymentAction[] = machine.state === 'queued' ? [] : ['bump_server', 'start_next'];
  return { machine: { ...machine, state, deadlineAt: null }, failure, actions };
}

function stay(machine: Machine): Step {
  return { machine, failure: null, actions: [] };
}

function own(code: ErrorCode): Failure {
  return { code, message: null };
}
