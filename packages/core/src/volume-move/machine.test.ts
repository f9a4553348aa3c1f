// Tests of the state machine of moves: when an app is away, and when it comes back.
import { expect, test } from 'vitest';
import { type CopyFact, type MoveFacts, type MoveStep, step } from './machine.ts';
import type { MoveState } from './schema.ts';

const now = new Date('2026-11-26T12:00:00Z');
const later = new Date(now.getTime() + 1);
const done: CopyFact = { state: 'done', failureMessage: null };
const running: CopyFact = { state: 'running', failureMessage: null };
const failed: CopyFact = { state: 'failed', failureMessage: 'The disk is full.' };
const facts: MoveFacts = { snapshots: [], restores: [], isTargetOpen: true, rollout: 'under_way', isCancelled: false };
const timedOut: Extract<MoveStep, { kind: 'fail' }> = { kind: 'fail', code: 'volume_move.stuck', message: null };
const diskFull: MoveStep = { ...timedOut, message: 'The disk is full.' };
const targetGone: MoveStep = { kind: 'fail', code: 'volume_move.target_drained', message: null };

const cases: readonly (readonly [MoveState, Partial<MoveFacts>, MoveStep])[] = [
  ['copying', { snapshots: [done, running] }, { kind: 'wait' }],
  ['copying', { snapshots: [done, done] }, { kind: 'restore' }],
  ['copying', { snapshots: [running, failed] }, diskFull],
  ['copying', { snapshots: [running], isCancelled: true }, { kind: 'cancel' }],
  ['copying', { snapshots: [done], isTargetOpen: false }, targetGone],
  ['restoring', { snapshots: [done], restores: [running] }, { kind: 'wait' }],
  ['restoring', { snapshots: [done], restores: [done] }, { kind: 'deploy' }],
  ['restoring', { restores: [] }, { kind: 'deploy' }],
  ['restoring', { restores: [failed, done] }, diskFull],
  ['restoring', { restores: [done], isCancelled: true }, { kind: 'cancel' }],
  ['deploying', {}, { kind: 'wait' }],
  ['deploying', { isCancelled: true }, { kind: 'wait' }],
  ['deploying', { rollout: 'live' }, { kind: 'succeed' }],
  ['deploying', { rollout: 'live', isCancelled: true }, { kind: 'succeed' }],
  ['deploying', { rollout: 'ended', isCancelled: true }, { kind: 'cancel' }],
  ['deploying', { rollout: 'ended' }, { kind: 'fail', code: 'volume_move.rollout_failed', message: null }],
  ['succeeded', { rollout: 'ended', isCancelled: true }, { kind: 'wait' }],
  ['failed', { snapshots: [done] }, { kind: 'wait' }],
  ['cancelled', { snapshots: [failed] }, { kind: 'wait' }],
];

test.each(cases)('%s with %j: %j', (state, changes, expected) => {
  expect(step({ state, deadlineAt: later }, { ...facts, ...changes }, now)).toEqual(expected);
});

test('a copy that takes too long fails, and one that is done at the deadline does not', () => {
  expect(step({ state: 'copying', deadlineAt: now }, { ...facts, snapshots: [running] }, now)).toEqual(timedOut);
  expect(step({ state: 'restoring', deadlineAt: now }, { ...facts, restores: [running] }, now)).toEqual(timedOut);
  expect(step({ state: 'copying', deadlineAt: now }, { ...facts, snapshots: [done] }, now)).toEqual({
    kind: 'restore',
  });
});
