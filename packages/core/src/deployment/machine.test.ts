import { expect, test } from 'vitest';
import { buildMs, type DeploymentEvent, type Machine, pickUpMs, rolloutMs, step } from './machine.ts';
import { type DeploymentState, deploymentStateSchema } from './schema.ts';

const now = new Date('2026-11-20T12:00:00Z');
const later = (ms: number): Date => new Date(now.getTime() + ms);
const failure = { code: 'build.command_failed', message: 'npm run build ended with 1. Look at the log.' };

function machine(state: DeploymentState, changes: Partial<Machine> = {}): Machine {
  return { state, needsBuild: true, heartbeatAt: null, deadlineAt: null, ...changes };
}

const advance: DeploymentEvent = { kind: 'advance', blocked: false, artifactHere: false };

test('a queued deployment builds as soon as nothing is in its way, and its server has two minutes to take it up', () => {
  const result = step(machine('queued'), advance, now);
  expect(result.machine).toMatchObject({ state: 'building', deadlineAt: later(pickUpMs) });
  expect(result.actions).toEqual(['bump_server']);
});

test('a queued deployment waits while another one is under way', () => {
  const before = machine('queued');
  expect(step(before, { ...advance, blocked: true }, now)).toEqual({ machine: before, failure: null, actions: [] });
});

test('a rollback goes straight to the roll-out when the server holds the artifact, and fails with a sentence when not', () => {
  const rollback = machine('queued', { needsBuild: false });
  expect(step(rollback, { ...advance, artifactHere: true }, now).machine.state).toBe('rolling_out');
  const elsewhere = step(rollback, advance, now);
  expect(elsewhere.machine.state).toBe('failed');
  expect(elsewhere.failure?.code).toBe('deployment.artifact_elsewhere');
});

test('the first sign of work gives the build its whole time; later signs do not stretch it', () => {
  const first = step(machine('building'), { kind: 'build', outcome: { kind: 'running' } }, now);
  expect(first.machine).toMatchObject({ heartbeatAt: now, deadlineAt: later(buildMs) });
  const second = step(first.machine, { kind: 'build', outcome: { kind: 'running' } }, later(60_000));
  expect(second.machine).toMatchObject({ heartbeatAt: later(60_000), deadlineAt: later(buildMs) });
});

test('a finished build becomes a release that is rolled out', () => {
  const result = step(
    machine('building', { heartbeatAt: now }),
    { kind: 'build', outcome: { kind: 'succeeded' } },
    now,
  );
  expect(result.machine).toMatchObject({ state: 'rolling_out', heartbeatAt: null, deadlineAt: later(pickUpMs) });
  expect(result.actions).toEqual(['create_release', 'bump_server']);
});

test('a roll-out that succeeded is live and lets the next one start', () => {
  const result = step(machine('rolling_out'), { kind: 'rollout', outcome: { kind: 'succeeded' } }, now);
  expect(result.machine.state).toBe('live');
  expect(result.actions).toEqual(['make_live', 'bump_server', 'start_next']);
});

test.each([
  ['building', 'build'],
  ['rolling_out', 'rollout'],
] as const)('a failure while %s keeps the words of the server and never makes anything live', (state, kind) => {
  const result = step(machine(state), { kind, outcome: { kind: 'failed', failure } }, now);
  expect(result).toMatchObject({ machine: { state: 'failed' }, failure, actions: ['bump_server', 'start_next'] });
});

test('work that the server dropped by itself is a failure, not a cancel', () => {
  const result = step(machine('building'), { kind: 'build', outcome: { kind: 'cancelled' } }, now);
  expect(result).toMatchObject({ machine: { state: 'failed' }, failure: { code: 'deployment.interrupted' } });
});

test.each(['queued', 'building', 'rolling_out'] as const)('a cancel ends it at once while %s', (state) => {
  const result = step(machine(state), { kind: 'cancel' }, now);
  expect(result.machine.state).toBe('cancelled');
  expect(result.actions).toEqual(state === 'queued' ? [] : ['bump_server', 'start_next']);
});

test('only a queued deployment is superseded', () => {
  expect(step(machine('queued'), { kind: 'supersede' }, now).machine.state).toBe('superseded');
  expect(step(machine('building'), { kind: 'supersede' }, now).machine.state).toBe('building');
});

test('a deadline that passed fails it, and says whether the server was there', () => {
  const due = machine('building', { deadlineAt: now });
  expect(step(due, { kind: 'overdue', serverConnected: true }, now).failure?.code).toBe('deployment.build_overdue');
  expect(step(due, { kind: 'overdue', serverConnected: false }, now).failure?.code).toBe('deployment.server_offline');
  const rollout = machine('rolling_out', { deadlineAt: now, heartbeatAt: later(-rolloutMs) });
  expect(step(rollout, { kind: 'overdue', serverConnected: true }, now).failure?.code).toBe(
    'deployment.rollout_overdue',
  );
  expect(step(machine('building', { deadlineAt: later(1) }), { kind: 'overdue', serverConnected: true }, now)).toEqual({
    machine: machine('building', { deadlineAt: later(1) }),
    failure: null,
    actions: [],
  });
});

test('a lost lease tells the server again and changes nothing else', () => {
  const before = machine('building', { deadlineAt: later(1000) });
  expect(step(before, { ...advance, blocked: true }, now)).toEqual({
    machine: before,
    failure: null,
    actions: ['bump_server'],
  });
});

test('late and misplaced reports change nothing', () => {
  const succeeded = { kind: 'succeeded' } as const;
  for (const [state, kind] of [
    ['rolling_out', 'build'],
    ['building', 'rollout'],
    ['queued', 'build'],
  ] as const) {
    const before = machine(state);
    expect(step(before, { kind, outcome: succeeded }, now)).toEqual({ machine: before, failure: null, actions: [] });
  }
});

test('what is over stays over, whatever comes', () => {
  const events: DeploymentEvent[] = [
    advance,
    { kind: 'build', outcome: { kind: 'succeeded' } },
    { kind: 'rollout', outcome: { kind: 'failed', failure } },
    { kind: 'cancel' },
    { kind: 'supersede' },
    { kind: 'overdue', serverConnected: false },
  ];
  for (const state of deploymentStateSchema.options.filter(
    (name) => !['queued', 'building', 'releasing', 'rolling_out'].includes(name),
  )) {
    for (const event of events) {
      const before = machine(state, { deadlineAt: later(-1) });
      expect(step(before, event, now)).toEqual({ machine: before, failure: null, actions: [] });
    }
  }
});
