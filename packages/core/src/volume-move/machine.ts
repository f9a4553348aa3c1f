// State machine of the move of an app with its volumes: copying → restoring → deploying → succeeded, or failed, cancelled.
// Invariant: pure. The app runs on one server at a time, and stays on the old one unless it is live on the new one.
import type { ErrorCode } from '@fairlead/contract/errors';
import type { MoveState } from './schema.ts';

/** Covers the largest snapshot on a slow line. */
export const copyMs = 6 * 60 * 60_000;

export interface CopyFact {
  readonly state: 'running' | 'done' | 'failed';
  readonly failureMessage: string | null;
}

export interface MoveFacts {
  readonly snapshots: readonly CopyFact[];
  readonly restores: readonly CopyFact[];
  /** The target exists and is not drained. */
  readonly isTargetOpen: boolean;
  /** State of the app on the target: `ended`: no deployment is under way, and none of its releases is live there. */
  readonly rollout: 'under_way' | 'live' | 'ended';
  /** A member asked for it; a rollout that went live first wins. */
  readonly isCancelled: boolean;
}

export interface MoveMachine {
  readonly state: MoveState;
  readonly deadlineAt: Date | null;
}

export type MoveStep =
  | { readonly kind: 'wait' }
  /** Restores the snapshots on the target. */
  | { readonly kind: 'restore' }
  /** Adds the target to the app, and rolls the live release out there. */
  | { readonly kind: 'deploy' }
  /** Takes the app off the source. */
  | { readonly kind: 'succeed' }
  | { readonly kind: 'cancel' }
  /** `message` of a server, else that of the code. */
  | { readonly kind: 'fail'; readonly code: ErrorCode; readonly message: string | null };

const wait: MoveStep = { kind: 'wait' };

export function step({ state, deadlineAt }: MoveMachine, facts: MoveFacts, now: Date): MoveStep {
  switch (state) {
    case 'copying':
      return copied(facts.snapshots, { kind: 'restore' });
    case 'restoring':
      return copied(facts.restores, { kind: 'deploy' });
    case 'deploying':
      if (facts.rollout === 'under_way') return wait;
      if (facts.rollout === 'live') return { kind: 'succeed' };
      return facts.isCancelled ? { kind: 'cancel' } : fail('volume_move.rollout_failed');
    case 'succeeded':
    case 'failed':
    case 'cancelled':
      return wait;
  }

  function copied(copies: readonly CopyFact[], next: MoveStep): MoveStep {
    if (facts.isCancelled) return { kind: 'cancel' };
    const failed = copies.find((copy) => copy.state === 'failed');
    if (failed !== undefined) return fail('volume_move.stuck', failed.failureMessage);
    if (!facts.isTargetOpen) return fail('volume_move.target_drained');
    if (copies.every((copy) => copy.state === 'done')) return next;
    return deadlineAt !== null && deadlineAt <= now ? fail('volume_move.stuck') : wait;
  }
}

function fail(code: ErrorCode, message: string | null = null): MoveStep {
  return { kind: 'fail', code, message };
}
