// State machine of a deployment: queued → building → releasing → rolling_out → live, or failed, cancelled,
// superseded, with the part of each server.
// Invariant: pure. It takes a state, an event and the time, and never touches rows, clocks or the network.
import type { ErrorCode } from '@fairlead/contract/errors';
import type { DeploymentState, ServerRolloutState } from './schema.ts';

/** A connected agent starts work within seconds; this covers an agent that restarts. */
export const pickUpMs = 2 * 60_000;
/** Grace beyond a server's limits, for its last report, unpacking and fetching. */
export const slackMs = 2 * 60_000;

export interface Limits {
  /** Once the server has taken it up. */
  readonly buildMs: number;
  /** Deadline of one server's rollout, from the moment it starts. */
  readonly rolloutMs: number;
}

/** The part of one server. `waiting` before its turn; `reverting` while it goes back to what it served before. */
export interface ServerRoll {
  readonly serverId: string;
  readonly state: ServerRolloutState;
  readonly formerReleaseId: string | null;
  /** When it last spoke of this; null before it took it up. */
  readonly heartbeatAt: Date | null;
  readonly deadlineAt: Date | null;
  /** Why it did not get through, or did not get back. */
  readonly failureMessage: string | null;
}

export interface Machine {
  readonly state: DeploymentState;
  /** False when it rolls out a release that exists. */
  readonly needsBuild: boolean;
  readonly hasReleaseCommand: boolean;
  readonly hasPostReleaseCommand: boolean;
  readonly limits: Limits;
  /** When a server last spoke of the work in this state; null before it was taken up. */
  readonly heartbeatAt: Date | null;
  readonly deadlineAt: Date | null;
  /** Final state once its servers are back on the former release. */
  readonly ending: 'failed' | 'cancelled' | null;
  /** The first server first. Empty before the rollout. */
  readonly rolls: readonly ServerRoll[];
}

export interface Failure {
  /** Code of the error table when it is ours, else the agent's own text. */
  readonly code: string;
  /** A whole sentence that says what to do; null: the table's. */
  readonly message: string | null;
  /** The server where it happened, when there are several. */
  readonly serverId?: string;
}

export type WorkOutcome =
  | { readonly kind: 'running' }
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'cancelled' };

/** Server of the rollout; the first server comes first. */
export interface Target {
  readonly serverId: string;
  readonly formerReleaseId: string | null;
}

export type DeploymentEvent =
  /**
   * A worker examines it. `blocked`: another deployment of the same app and environment runs, it awaits approval, or
   * no build slot is free. `refusal`: the reason why it cannot start.
   */
  | {
      readonly kind: 'advance';
      readonly blocked: boolean;
      readonly refusal: Failure | null;
      readonly targets: readonly Target[];
    }
  | { readonly kind: 'build'; readonly outcome: WorkOutcome; readonly targets: readonly Target[] }
  | {
      readonly kind: 'rollout';
      readonly serverId: string;
      readonly outcome: WorkOutcome;
      /** The release command has ended, or the server is past it. */
      readonly released: boolean;
    }
  /** A server reports its rollback. */
  | { readonly kind: 'revert'; readonly serverId: string; readonly outcome: WorkOutcome }
  | { readonly kind: 'cancel' }
  /** The app leaves its servers, so that none has to roll back. */
  | { readonly kind: 'stop' }
  | { readonly kind: 'supersede' }
  /** `offline`: servers of this deployment that are not connected. */
  | { readonly kind: 'overdue'; readonly offline: readonly string[]; readonly buildServerId: string | null };

export type DeploymentAction =
  /** Send the servers their changed desired state, or send it again. */
  | 'bump_servers'
  /** Make a release of what was built; the rollout needs it. */
  | 'create_release'
  /** The next deployment in the queue may begin. */
  | 'start_next'
  /** Others may build now. */
  | 'free_slot';

export interface Step {
  readonly machine: Machine;
  readonly failure: Failure | null;
  readonly actions: readonly DeploymentAction[];
}

export function isFinished(state: DeploymentState): boolean {
  return state === 'live' || state === 'failed' || state === 'cancelled' || state === 'superseded';
}

/** Ignores events that do not fit the state: reports repeat, and late ones are about work that has ended. */
export function step(machine: Machine, event: DeploymentEvent, now: Date): Step {
  if (isFinished(machine.state)) return stay(machine);
  switch (event.kind) {
    case 'advance':
      return advance(machine, event, now);
    case 'build':
      return machine.state === 'building' ? build(machine, event, now) : stay(machine);
    case 'rollout':
      return rollout(machine, event, now);
    case 'revert':
      return revert(machine, event, now);
    case 'cancel':
      if (machine.ending !== null) return stay(machine);
      return startRollback(machine, 'cancelled', null, now);
    case 'stop':
      return stop(machine);
    case 'supersede':
      return machine.state === 'queued' ? end(machine, 'superseded', null) : stay(machine);
    case 'overdue':
      return overdue(machine, event, now);
  }
}

function advance(machine: Machine, event: Extract<DeploymentEvent, { kind: 'advance' }>, now: Date): Step {
  // Under way already: the worker before this one died, or the server fell silent. Telling it again costs nothing.
  if (machine.state !== 'queued') return { machine, failure: null, actions: ['bump_servers'] };
  if (event.blocked) return stay(machine);
  if (event.refusal) return end(machine, 'failed', event.refusal);
  if (!machine.needsBuild) return beginRollout(machine, event.targets, now, []);
  const building: Machine = { ...machine, state: 'building', heartbeatAt: null, deadlineAt: inMs(now, pickUpMs) };
  return { machine: building, failure: null, actions: ['bump_servers'] };
}

function build(machine: Machine, event: Extract<DeploymentEvent, { kind: 'build' }>, now: Date): Step {
  const { outcome } = event;
  switch (outcome.kind) {
    case 'running': {
      const deadlineAt = machine.heartbeatAt === null ? inMs(now, machine.limits.buildMs) : machine.deadlineAt;
      return stay({ ...machine, heartbeatAt: now, deadlineAt });
    }
    case 'succeeded':
      return beginRollout(machine, event.targets, now, ['create_release', 'free_slot']);
    case 'failed':
      return end(machine, 'failed', outcome.failure);
    // This side did not cancel it, or the deployment would have ended: the server dropped the work on its own.
    case 'cancelled':
      return end(machine, 'failed', own('deployment.interrupted'));
  }
}

function beginRollout(
  machine: Machine,
  targets: readonly Target[],
  now: Date,
  actions: readonly DeploymentAction[],
): Step {
  const rolls = targets.map(
    (target): ServerRoll => ({
      ...target,
      state: 'waiting',
      heartbeatAt: null,
      deadlineAt: null,
      failureMessage: null,
    }),
  );
  const begun = nextWave({ ...machine, state: machine.hasReleaseCommand ? 'releasing' : 'rolling_out', rolls }, now);
  return { machine: timed(begun), failure: null, actions: [...actions, 'bump_servers'] };
}

/** Waves: the first server alone, then all others together; the last one alone if it runs the post-release command. */
function nextWave(machine: Machine, now: Date): Machine {
  const waiting = machine.rolls.filter(({ state }) => state === 'waiting');
  const isFirst = waiting.length === machine.rolls.length;
  const size = isFirst ? 1 : machine.hasPostReleaseCommand && waiting.length > 1 ? waiting.length - 1 : waiting.length;
  const turn = new Set(waiting.slice(0, size));
  return {
    ...machine,
    rolls: machine.rolls.map((roll) =>
      turn.has(roll) ? { ...roll, state: 'rolling_out', heartbeatAt: null, deadlineAt: inMs(now, pickUpMs) } : roll,
    ),
  };
}

function rollout(machine: Machine, event: Extract<DeploymentEvent, { kind: 'rollout' }>, now: Date): Step {
  const { serverId, outcome } = event;
  const roll = machine.rolls.find((each) => each.serverId === serverId);
  if (roll?.state !== 'rolling_out' || machine.ending !== null) return stay(machine);
  const past: Machine =
    machine.state === 'releasing' && (event.released || outcome.kind === 'succeeded')
      ? { ...machine, state: 'rolling_out' }
      : machine;
  switch (outcome.kind) {
    case 'running':
      return stay(timed(recordHeartbeat(past, roll, machine.limits.rolloutMs, now)));
    case 'succeeded': {
      const moved = withRoll(past, roll, { state: 'live', heartbeatAt: now, deadlineAt: null });
      if (moved.rolls.some(({ state }) => state === 'rolling_out')) {
        return { machine: timed(moved), failure: null, actions: ['bump_servers'] };
      }
      if (moved.rolls.every(({ state }) => state === 'live')) return end(moved, 'live', null);
      return { machine: timed(nextWave(moved, now)), failure: null, actions: ['bump_servers'] };
    }
    case 'failed':
      return fail(past, roll, outcome.failure, now);
    case 'cancelled':
      return fail(past, roll, own('deployment.interrupted'), now);
  }
}

function fail(machine: Machine, roll: ServerRoll, failure: Failure, now: Date): Step {
  const recorded = withRoll(machine, roll, { state: 'failed', deadlineAt: null, failureMessage: failure.message });
  const named = machine.rolls.length > 1 ? { ...failure, serverId: roll.serverId } : failure;
  return startRollback(recorded, 'failed', named, now);
}

/**
 * Ends the rollout: servers that have not switched keep their release, and those that have roll back. Ends
 * immediately if none has.
 */
function startRollback(machine: Machine, ending: 'failed' | 'cancelled', failure: Failure | null, now: Date): Step {
  const rolls = machine.rolls.map((roll): ServerRoll => {
    if (roll.state === 'waiting' || roll.state === 'rolling_out') {
      return { ...roll, state: 'cancelled', deadlineAt: null };
    }
    if (roll.state !== 'live') return roll;
    // A server without a former release has no rollback target: the app leaves it.
    if (roll.formerReleaseId === null) return { ...roll, state: 'reverted', deadlineAt: null };
    return { ...roll, state: 'reverting', heartbeatAt: null, deadlineAt: inMs(now, pickUpMs) };
  });
  const reverting: Machine = { ...machine, rolls };
  if (!isGoingBack(reverting)) return end(reverting, ending, failure);
  return { machine: timed({ ...reverting, state: 'rolling_out', ending }), failure, actions: ['bump_servers'] };
}

/** Cancels at once. The former release stays the one to serve, wherever the rollout was. */
function stop(machine: Machine): Step {
  const rolls = machine.rolls.map((roll): ServerRoll => {
    if (roll.state === 'waiting' || roll.state === 'rolling_out')
      return { ...roll, state: 'cancelled', deadlineAt: null };
    if (roll.state === 'live' || roll.state === 'reverting') return { ...roll, state: 'reverted', deadlineAt: null };
    return roll;
  });
  return end({ ...machine, rolls }, machine.ending ?? 'cancelled', null);
}

function revert(machine: Machine, event: Extract<DeploymentEvent, { kind: 'revert' }>, now: Date): Step {
  const { outcome } = event;
  const roll = machine.rolls.find((each) => each.serverId === event.serverId);
  if (roll?.state !== 'reverting' || machine.ending === null) return stay(machine);
  switch (outcome.kind) {
    case 'running':
      return stay(timed(recordHeartbeat(machine, roll, machine.limits.rolloutMs, now)));
    case 'succeeded':
      return settle(withRoll(machine, roll, { state: 'reverted', heartbeatAt: now, deadlineAt: null }));
    // The rollback failed: the server keeps serving the new release, and its failure message is stored.
    case 'failed':
      return settle(
        withRoll(machine, roll, { state: 'failed', deadlineAt: null, failureMessage: outcome.failure.message }),
      );
    case 'cancelled':
      return settle(withRoll(machine, roll, { state: 'failed', deadlineAt: null }));
  }
}

/** Ends the deployment when no server is still rolling back. */
function settle(machine: Machine): Step {
  if (isGoingBack(machine) || machine.ending === null) {
    return { machine: timed(machine), failure: null, actions: ['bump_servers'] };
  }
  return end(machine, machine.ending, null);
}

function overdue(machine: Machine, event: Extract<DeploymentEvent, { kind: 'overdue' }>, now: Date): Step {
  const { offline } = event;
  if (machine.state === 'queued') return stay(machine);
  if (machine.state === 'building') {
    if (machine.deadlineAt === null || machine.deadlineAt > now) return stay(machine);
    const away = event.buildServerId !== null && offline.includes(event.buildServerId);
    return end(machine, 'failed', own(away ? 'deployment.server_offline' : 'deployment.build_overdue'));
  }
  const late = machine.rolls.filter(({ deadlineAt }) => deadlineAt !== null && deadlineAt <= now);
  const [first] = late;
  if (first === undefined) {
    // A rollout without servers cannot end by itself.
    return machine.deadlineAt !== null && machine.deadlineAt <= now
      ? startRollback(machine, machine.ending ?? 'failed', own('deployment.rollout_overdue'), now)
      : stay(machine);
  }
  if (machine.ending !== null) {
    // The pointer goes back without them: whenever such a server comes again, it finds what it should serve.
    const lost = new Set(late);
    const rolls = machine.rolls.map((roll) =>
      lost.has(roll) ? { ...roll, state: 'reverted' as const, deadlineAt: null } : roll,
    );
    return settle({ ...machine, rolls });
  }
  if (machine.rolls.length > 1) return fail(machine, first, own('deployment.server_lost'), now);
  const away = offline.includes(first.serverId);
  return fail(machine, first, own(away ? 'deployment.server_offline' : 'deployment.rollout_overdue'), now);
}

function recordHeartbeat(machine: Machine, roll: ServerRoll, limitMs: number, now: Date): Machine {
  const deadlineAt = roll.heartbeatAt === null ? inMs(now, limitMs) : roll.deadlineAt;
  return withRoll(machine, roll, { heartbeatAt: now, deadlineAt });
}

function withRoll(machine: Machine, roll: ServerRoll, changes: Partial<ServerRoll>): Machine {
  return { ...machine, rolls: machine.rolls.map((each) => (each === roll ? { ...each, ...changes } : each)) };
}

/** Derives the deployment's deadline and heartbeat from its servers: the nearest and the last. */
function timed(machine: Machine): Machine {
  const deadlines = machine.rolls.flatMap(({ deadlineAt }) => deadlineAt?.getTime() ?? []);
  const beats = machine.rolls.flatMap(({ heartbeatAt }) => heartbeatAt?.getTime() ?? []);
  return {
    ...machine,
    deadlineAt: deadlines.length === 0 ? null : new Date(Math.min(...deadlines)),
    heartbeatAt: beats.length === 0 ? null : new Date(Math.max(...beats)),
  };
}

function isGoingBack(machine: Machine): boolean {
  return machine.rolls.some(({ state }) => state === 'reverting');
}

function end(machine: Machine, state: 'live' | 'failed' | 'cancelled' | 'superseded', failure: Failure | null): Step {
  // Servers do not know a queued deployment, and it blocks no other.
  const actions: DeploymentAction[] = machine.state === 'queued' ? [] : ['bump_servers', 'start_next'];
  if (machine.state === 'building') actions.push('free_slot');
  return { machine: { ...machine, state, deadlineAt: null, ending: null }, failure, actions };
}

function stay(machine: Machine): Step {
  return { machine, failure: null, actions: [] };
}

function inMs(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms);
}

function own(code: ErrorCode): Failure {
  return { code, message: null };
}
