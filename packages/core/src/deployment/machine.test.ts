import { describe, expect, test } from 'vitest';
import {
  type DeploymentEvent,
  isFinished,
  type Machine,
  pickUpMs,
  type ServerRoll,
  type Step,
  step,
  type Target,
  type WorkOutcome,
} from './machine.ts';
import { type DeploymentState, deploymentStateSchema, type ServerRolloutState } from './schema.ts';

const now = new Date('2026-11-20T12:00:00Z');
const later = (ms: number): Date => new Date(now.getTime() + ms);
const failure = { code: 'build.command_failed', message: 'npm run build ended with 1. Look at the log.' };
const limits = { buildMs: 1_000_000, rolloutMs: 400_000 };
const one: Target[] = [{ serverId: 'srv_a', formerReleaseId: 'rel_old' }];
const three: Target[] = ['a', 'b', 'c'].map((each) => ({ serverId: `srv_${each}`, formerReleaseId: 'rel_old' }));

function machine(state: DeploymentState, changes: Partial<Machine> = {}): Machine {
  return {
    state,
    needsBuild: true,
    hasReleaseCommand: false,
    hasPostReleaseCommand: false,
    limits,
    heartbeatAt: null,
    deadlineAt: null,
    ending: null,
    rolls: [],
    ...changes,
  };
}

function roll(serverId: string, state: ServerRolloutState, changes: Partial<ServerRoll> = {}): ServerRoll {
  return {
    serverId,
    state,
    formerReleaseId: 'rel_old',
    heartbeatAt: null,
    deadlineAt: null,
    failureMessage: null,
    ...changes,
  };
}

const advance: DeploymentEvent = { kind: 'advance', blocked: false, refusal: null, targets: one };
const built = (outcome: WorkOutcome, targets = one): DeploymentEvent => ({ kind: 'build', outcome, targets });
const rolled = (serverId: string, kind: 'running' | 'succeeded' | 'cancelled', released = true): DeploymentEvent => ({
  kind: 'rollout',
  serverId,
  outcome: { kind },
  released,
});
const rollFailed = (serverId: string): DeploymentEvent => ({
  kind: 'rollout',
  serverId,
  outcome: { kind: 'failed', failure },
  released: true,
});
const back = (serverId: string, kind: 'running' | 'succeeded'): DeploymentEvent => ({
  kind: 'revert',
  serverId,
  outcome: { kind },
});
const overdue = (offline: string[] = []): DeploymentEvent => ({ kind: 'overdue', offline, buildServerId: 'srv_a' });

function run(from: Machine, ...events: readonly DeploymentEvent[]): Step {
  let last: Step = { machine: from, failure: null, actions: [] };
  for (const event of events) last = step(last.machine, event, now);
  return last;
}
const statesOf = (of: Machine): string[] => of.rolls.map(({ serverId, state }) => `${serverId} ${state}`);
const begun = (targets: Target[], changes: Partial<Machine> = {}): Machine =>
  run(machine('queued', { needsBuild: false, ...changes }), { ...advance, targets }).machine;

test.each([
  ['queued', [], []],
  ['building', [], []],
  [
    'rolling_out',
    [roll('srv_a', 'live'), roll('srv_b', 'rolling_out'), roll('srv_c', 'waiting')],
    ['reverted', 'cancelled', 'cancelled'],
  ],
  ['rolling_out', [roll('srv_a', 'failed'), roll('srv_b', 'reverting')], ['failed', 'reverted']],
] as const)('an app that leaves its servers cancels a deployment that is %s at once', (state, rolls, ends) => {
  const stopped = step(machine(state, { rolls }), { kind: 'stop' }, now).machine;
  expect(stopped).toMatchObject({ state: 'cancelled', deadlineAt: null, ending: null });
  expect(stopped.rolls.map((each) => each.state)).toEqual(ends);
});

test('a deployment that was failing has failed when its app leaves its servers', () => {
  const failing = machine('rolling_out', { ending: 'failed', rolls: [roll('srv_a', 'reverting')] });
  expect(step(failing, { kind: 'stop' }, now).machine.state).toBe('failed');
});

describe('one server', () => {
  test('a queued deployment builds as soon as it is not blocked, and its server has two minutes to start', () => {
    const result = step(machine('queued'), advance, now);
    expect(result.machine).toMatchObject({ state: 'building', deadlineAt: later(pickUpMs), rolls: [] });
    expect(result.actions).toEqual(['bump_servers']);
  });

  test('it waits while it is blocked, and fails with the sentence why it cannot begin', () => {
    const before = machine('queued');
    expect(step(before, { ...advance, blocked: true }, now)).toEqual({ machine: before, failure: null, actions: [] });
    const refused = step(before, { ...advance, refusal: failure }, now);
    expect(refused).toMatchObject({ machine: { state: 'failed' }, failure, actions: [] });
  });

  test('the first report of work gives the build its whole time; later reports do not extend it', () => {
    const first = step(machine('building'), built({ kind: 'running' }), now);
    expect(first.machine).toMatchObject({ heartbeatAt: now, deadlineAt: later(limits.buildMs) });
    const second = step(first.machine, built({ kind: 'running' }), later(60_000));
    expect(second.machine).toMatchObject({ heartbeatAt: later(60_000), deadlineAt: later(limits.buildMs) });
  });

  test('a finished build becomes a release that is rolled out, and others may build', () => {
    const result = step(machine('building', { heartbeatAt: now }), built({ kind: 'succeeded' }), now);
    expect(result.machine).toMatchObject({ state: 'rolling_out', heartbeatAt: null, deadlineAt: later(pickUpMs) });
    expect(statesOf(result.machine)).toEqual(['srv_a rolling_out']);
    expect(result.actions).toEqual(['create_release', 'free_slot', 'bump_servers']);
  });

  test('a release command is a state of its own, until the server has passed it', () => {
    const releasing = begun(one, { hasReleaseCommand: true });
    expect(releasing.state).toBe('releasing');
    expect(run(releasing, rolled('srv_a', 'running', false)).machine.state).toBe('releasing');
    expect(run(releasing, rolled('srv_a', 'running', true)).machine.state).toBe('rolling_out');
    expect(run(releasing, rolled('srv_a', 'succeeded', false)).machine.state).toBe('live');
  });

  test('a rollout that succeeded is live and lets the next one start', () => {
    const result = run(begun(one), rolled('srv_a', 'succeeded'));
    expect(result.machine).toMatchObject({ state: 'live', deadlineAt: null });
    expect(statesOf(result.machine)).toEqual(['srv_a live']);
    expect(result.actions).toEqual(['bump_servers', 'start_next']);
  });

  test('a failure keeps the server’s message and changes nothing there', () => {
    const inBuild = step(machine('building'), built({ kind: 'failed', failure }), now);
    expect(inBuild).toMatchObject({ machine: { state: 'failed' }, failure });
    const inRollout = run(begun(one), rollFailed('srv_a'));
    expect(inRollout).toMatchObject({ machine: { state: 'failed' }, failure });
    expect(statesOf(inRollout.machine)).toEqual(['srv_a failed']);
  });

  test('work that the server dropped is a failure, with a different code for an offline agent', () => {
    expect(step(machine('building'), built({ kind: 'cancelled' }), now).failure?.code).toBe('deployment.interrupted');
    expect(run(begun(one), rolled('srv_a', 'cancelled')).failure?.code).toBe('deployment.interrupted');
    const late = machine('building', { deadlineAt: now });
    expect(step(late, overdue(), now).failure?.code).toBe('deployment.build_overdue');
    expect(step(late, overdue(['srv_a']), now).failure?.code).toBe('deployment.server_offline');
    const rolling = begun(one);
    expect(step(rolling, overdue(), later(pickUpMs)).failure?.code).toBe('deployment.rollout_overdue');
    expect(step(rolling, overdue(['srv_a']), later(pickUpMs)).failure?.code).toBe('deployment.server_offline');
    expect(step(rolling, overdue(), later(pickUpMs - 1)).machine).toBe(rolling);
  });
});

describe('several servers', () => {
  test('the first goes ahead; the others follow together once it is live', () => {
    const first = begun(three);
    expect(statesOf(first)).toEqual(['srv_a rolling_out', 'srv_b waiting', 'srv_c waiting']);
    const second = run(first, rolled('srv_a', 'succeeded'));
    expect(statesOf(second.machine)).toEqual(['srv_a live', 'srv_b rolling_out', 'srv_c rolling_out']);
    expect(second.actions).toEqual(['bump_servers']);
    const third = run(second.machine, rolled('srv_c', 'succeeded'));
    expect(third.machine.state).toBe('rolling_out');
    expect(run(third.machine, rolled('srv_b', 'succeeded')).machine.state).toBe('live');
  });

  test('the last one waits for the others when it runs the post-release command', () => {
    const second = run(begun(three, { hasPostReleaseCommand: true }), rolled('srv_a', 'succeeded'));
    expect(statesOf(second.machine)).toEqual(['srv_a live', 'srv_b rolling_out', 'srv_c waiting']);
    const third = run(second.machine, rolled('srv_b', 'succeeded'));
    expect(statesOf(third.machine)).toEqual(['srv_a live', 'srv_b live', 'srv_c rolling_out']);
  });

  test('a failure of the first server changes nothing on the others', () => {
    const result = run(begun(three), rollFailed('srv_a'));
    expect(result.machine.state).toBe('failed');
    expect(statesOf(result.machine)).toEqual(['srv_a failed', 'srv_b cancelled', 'srv_c cancelled']);
    expect(result.failure).toMatchObject({ serverId: 'srv_a' });
  });

  test('a failure of a later one takes the switched ones back, and only then it has failed', () => {
    const result = run(begun(three), rolled('srv_a', 'succeeded'), rollFailed('srv_c'));
    expect(result.machine).toMatchObject({ state: 'rolling_out', ending: 'failed', deadlineAt: later(pickUpMs) });
    expect(statesOf(result.machine)).toEqual(['srv_a reverting', 'srv_b cancelled', 'srv_c failed']);
    expect(result.failure).toMatchObject({ ...failure, serverId: 'srv_c' });
    // Later rollout reports of the other servers are ignored.
    expect(run(result.machine, rolled('srv_b', 'succeeded')).machine).toEqual(result.machine);
    const ended = run(result.machine, back('srv_a', 'running'), back('srv_a', 'succeeded'));
    expect(ended.machine).toMatchObject({ state: 'failed', ending: null });
    expect(statesOf(ended.machine)).toEqual(['srv_a reverted', 'srv_b cancelled', 'srv_c failed']);
  });

  test('a lost server ends the deployment within its deadline, also in a rollback', () => {
    const second = run(begun(three), rolled('srv_a', 'succeeded')).machine;
    const lost = step(second, overdue(['srv_b']), later(pickUpMs));
    expect(lost.failure).toMatchObject({ code: 'deployment.server_lost', serverId: 'srv_b' });
    expect(lost.machine.ending).toBe('failed');
    const never = step(lost.machine, overdue(['srv_a', 'srv_b']), later(2 * pickUpMs));
    expect(never.machine.state).toBe('failed');
    expect(statesOf(never.machine)).toEqual(['srv_a reverted', 'srv_b failed', 'srv_c cancelled']);
  });

  test('a cancelled rollout rolls back before it ends; a server without a former release has nothing to roll back to', () => {
    const second = run(begun(three), rolled('srv_a', 'succeeded')).machine;
    const cancelled = run(second, { kind: 'cancel' });
    expect(cancelled.machine).toMatchObject({ state: 'rolling_out', ending: 'cancelled' });
    expect(run(cancelled.machine, { kind: 'cancel' }).machine).toBe(cancelled.machine);
    expect(run(cancelled.machine, back('srv_a', 'succeeded')).machine.state).toBe('cancelled');
    const fresh = three.map((target) => ({ ...target, formerReleaseId: null }));
    const first = run(begun(fresh), rolled('srv_a', 'succeeded'), { kind: 'cancel' });
    expect(first.machine.state).toBe('cancelled');
    expect(statesOf(first.machine)[0]).toBe('srv_a reverted');
  });
});

describe('every state with every event', () => {
  const shapes: readonly Machine[] = [
    ...deploymentStateSchema.options.map((state) => machine(state, { deadlineAt: later(-1) })),
    begun(one),
    begun(three),
    begun(three, { hasReleaseCommand: true }),
    run(begun(three), rolled('srv_a', 'succeeded')).machine,
    run(begun(three), rolled('srv_a', 'succeeded'), rollFailed('srv_b')).machine,
    machine('rolling_out', { rolls: [roll('srv_a', 'live'), roll('srv_b', 'rolling_out', { deadlineAt: later(-1) })] }),
  ];
  const outcomes: readonly WorkOutcome[] = [
    { kind: 'running' },
    { kind: 'succeeded' },
    { kind: 'failed', failure },
    { kind: 'cancelled' },
  ];
  const events: readonly DeploymentEvent[] = [
    advance,
    { ...advance, blocked: true },
    { ...advance, refusal: failure },
    { ...advance, targets: three },
    ...outcomes.flatMap((outcome): DeploymentEvent[] => [
      built(outcome),
      built(outcome, three),
      ...['srv_a', 'srv_b', 'srv_x'].flatMap((serverId): DeploymentEvent[] => [
        { kind: 'rollout', serverId, outcome, released: false },
        { kind: 'rollout', serverId, outcome, released: true },
        { kind: 'revert', serverId, outcome },
      ]),
    ]),
    { kind: 'cancel' },
    { kind: 'supersede' },
    overdue(),
    overdue(['srv_a', 'srv_b', 'srv_c']),
  ];

  test('a finished deployment ignores every event', () => {
    for (const before of shapes.filter(({ state }) => isFinished(state))) {
      for (const event of events)
        expect(step(before, event, now)).toEqual({ machine: before, failure: null, actions: [] });
    }
  });

  test('every waiting state has a deadline, every end notifies its servers, and no server is left between two releases', () => {
    for (const before of shapes.filter(({ state }) => !isFinished(state))) {
      for (const event of events) {
        const { machine: after, actions } = step(before, event, now);
        const label = `${before.state} ${JSON.stringify(event)}`;
        if (isFinished(after.state)) {
          expect(after.deadlineAt, label).toBeNull();
          expect(after.ending, label).toBeNull();
          if (before.state !== 'queued')
            expect(actions, label).toEqual(expect.arrayContaining(['bump_servers', 'start_next']));
          const between = after.rolls.filter(({ state }) => ['waiting', 'rolling_out', 'reverting'].includes(state));
          expect(between, label).toEqual([]);
          const served = new Set(after.rolls.map(({ state }) => state === 'live'));
          expect(served.size, label).toBeLessThan(2);
        } else if (after.state !== 'queued' && after !== before && after.rolls.length > 0) {
          expect(after.deadlineAt, label).not.toBeNull();
        }
      }
    }
  });

  test('without events, every running deployment ends after three deadlines', () => {
    for (const before of shapes.filter(({ state }) => !isFinished(state) && state !== 'queued')) {
      let after = before;
      let at = now;
      for (let turn = 0; turn < 3 && !isFinished(after.state); turn += 1) {
        at = new Date(at.getTime() + 24 * 60 * 60_000);
        after = step(after, overdue(['srv_a', 'srv_b', 'srv_c']), at).machine;
      }
      expect(isFinished(after.state), JSON.stringify(before)).toBe(true);
    }
  });
});
