// Owns how the steps of a deployment follow its state and what its server reports. Pure.
import type { DeploymentState, StepName, StepState } from './schema.ts';

const stepNames: readonly StepName[] = ['queue', 'clone', 'build', 'pack', 'start', 'health', 'switch', 'drain'];
const buildSteps: ReadonlySet<string> = new Set(['clone', 'build', 'pack']);

export interface StepRow {
  readonly name: string;
  readonly state: StepState;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

export function firstSteps(needsBuild: boolean, now: Date): StepRow[] {
  return stepNames.map((name) => {
    if (name === 'queue') return { name, state: 'running', startedAt: now, finishedAt: null };
    const state = !needsBuild && buildSteps.has(name) ? 'skipped' : 'pending';
    return { name, state, startedAt: null, finishedAt: null };
  });
}

/** Steps a server reported replace ours by name; unknown names and steps outside its part of the work are dropped. */
export function withReported(steps: readonly StepRow[], reported: readonly StepRow[]): StepRow[] {
  const byName = new Map(reported.map((row) => [row.name, row]));
  return steps.map((row) => (row.name === 'queue' ? row : (byName.get(row.name) ?? row)));
}

/** Closes what the new state leaves behind. */
export function settled(steps: readonly StepRow[], state: DeploymentState, now: Date): StepRow[] {
  if (state === 'queued') return [...steps];
  return steps.map((row) => {
    if (row.name === 'queue' && state !== 'cancelled' && state !== 'superseded') return finish(row, 'done', now);
    if (state === 'building') return row;
    if (state === 'rolling_out') return buildSteps.has(row.name) ? finish(row, 'done', now) : row;
    if (state === 'live') return row.state === 'running' ? finish(row, 'done', now) : skip(row);
    if (state === 'failed') return row.state === 'running' ? finish(row, 'failed', now) : skip(row);
    return row.state === 'running' ? finish(row, 'skipped', now) : skip(row);
  });
}

function finish(row: StepRow, state: StepState, now: Date): StepRow {
  if (row.state !== 'running' && row.state !== 'pending') return row;
  return { ...row, state, startedAt: row.startedAt ?? now, finishedAt: now };
}

function skip(row: StepRow): StepRow {
  return row.state === 'pending' ? { ...row, state: 'skipped' } : row;
}
