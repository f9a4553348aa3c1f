import { newId } from '@fairlead/contract/ids';
import { deploymentStateSchema, deploymentTriggerSchema } from '@fairlead/core/deployment/schema';
import { expect, test } from 'vitest';
import { makeApp, makePerson } from './fleet.ts';
import { makeHistory } from './history.ts';
import { createRandom } from './random.ts';

const until = new Date('2026-11-20T12:00:00Z');
const from = new Date('2026-08-20T12:00:00Z');
const home = { organizationId: newId('org'), projectId: newId('prj'), environmentId: newId('env') };
const app = makeApp({
  name: 'Checkout API',
  home,
  serverId: newId('srv'),
  branch: 'main',
  domain: 'test.example.test',
  createdAt: from,
});
const people = [makePerson('Mei Tanaka', 'test.example.test').person];

function history(count: number) {
  return makeHistory(createRandom(count), { app, count, from, until, people, actors: people });
}

test('deployments are numbered without gaps, in the order in which they were asked for, and are over in time', () => {
  const { deployments } = history(300);
  expect(deployments.map(({ row }) => row.number)).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
  let last = from;
  for (const { row } of deployments) {
    const [queuedAt, finishedAt] = [row.queued_at as Date, row.finished_at as Date];
    expect(queuedAt.getTime()).toBeGreaterThan(last.getTime());
    expect(finishedAt.getTime()).toBeGreaterThanOrEqual(queuedAt.getTime());
    last = queuedAt;
  }
  const ends = deployments.map(({ row }) => (row.finished_at as Date).getTime());
  expect(Math.max(...ends)).toBeLessThan(until.getTime());
});

test('what is live is the release of the newest deployment that went live', () => {
  const { deployments, releases, live } = history(200);
  const newest = deployments.findLast(({ outcome }) => outcome === 'live');
  expect(live?.releaseId).toBe(newest?.row.release_id);
  const known = new Set(releases.map((release) => release.id));
  for (const { row } of deployments) if (row.release_id !== null) expect(known).toContain(row.release_id);
  for (const { row, outcome } of deployments) if (outcome === 'live') expect(row.release_id).not.toBeNull();
});

test('a pipeline deploys for the maker of its token, and without members the system does', () => {
  for (const { row } of history(100).deployments) {
    expect(row.requested_by_user_id).toBe(people[0]?.userId);
    expect(row.actor_user_id).toBe(row.trigger === 'api' ? null : people[0]?.userId);
  }
  const { deployments } = makeHistory(createRandom(1), { app, count: 100, from, until, people, actors: [] });
  for (const { row } of deployments) {
    expect(row.requested_by_user_id).toBeNull();
    expect(['system', 'rollback']).toContain(row.trigger);
  }
});

test('states and triggers are words of the product, and a failure says what to do', () => {
  for (const { row, steps, outcome } of history(400).deployments) {
    deploymentStateSchema.parse(row.state);
    deploymentTriggerSchema.parse(row.trigger);
    expect(row.failure_message === null).toBe(outcome !== 'failed');
    expect(steps.filter(({ state }) => state === 'failed')).toHaveLength(outcome === 'failed' ? 1 : 0);
    if (outcome === 'live') expect(steps.some(({ state }) => state === 'pending' || state === 'running')).toBe(false);
  }
});
