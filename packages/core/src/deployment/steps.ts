// Derives the steps of a deployment from its state and its servers' reports. Pure.
import { isFinished } from './machine.ts';
import { type DeploymentState, type StepName, type StepState, stepNameSchema } from './schema.ts';

/** Steps of every deployment; the others exist once a server reports them. */
const firstNames: ReadonlySet<StepName> = new Set([
  'queue',
  'clone',
  'build',
  'pack',
  'start',
  'health',
  'switch',
  'drain',
]);
export const buildSteps: ReadonlySet<string> = new Set(['clone', 'build', 'pack']);

export interface StepRow {
  readonly name: string;
  readonly state: StepState;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

export function firstSteps(needsBuild: boolean, now: Date): StepRow[] {
  return stepNameSchema.options
    .filter((name) => firstNames.has(name))
    .map((name) => {
      if (name === 'queue') return { name, state: 'running', startedAt: now, finishedAt: null };
      const state = !needsBuild && buildSteps.has(name) ? 'skipped' : 'pending';
      return { name, state, startedAt: null, finishedAt: null };
    });
}

/** Returns the index in the list of all steps. */
export function positionOf(name: string): number {
  return stepNameSchema.options.indexOf(name as StepName);
}

/** Steps a server reported replace ours by name or join them; unknown names and what is not its part are dropped. */
export function withReported(steps: readonly StepRow[], reported: readonly StepRow[]): StepRow[] {
  const byName = new Map([...steps, ...reported].map((row) => [row.name, row]));
  const queue = steps.find(({ name }) => name === 'queue');
  if (queue !== undefined) byName.set('queue', queue);
  return [...byName.values()]
    .filter(({ name }) => positionOf(name) >= 0 && (name !== 'queue' || queue !== undefined))
    .sort((a, b) => positionOf(a.name) - positionOf(b.name));
}

/**
 * Starts each step at the end of the one before it, so that their times add up: a gap between two is the transition.
 * The queue lasts until work begins, and the last step until the deployment's `end`, null while it runs. A fetch beside
 * the start is left alone: it belongs to another server.
 */
function withoutGaps(steps: readonly StepRow[], end: Date | null): StepRow[] {
  const startsAt = steps.find(({ name }) => name === 'start')?.startedAt;
  const isBeside = ({ name, finishedAt }: StepRow) =>
    name === 'fetch' && !(startsAt && finishedAt && finishedAt <= startsAt);
  const begun = steps.filter((row) => row.startedAt !== null && !isBeside(row));
  return steps.map((row) => {
    const at = begun.indexOf(row);
    const [before, after] = [begun[at - 1], begun[at + 1]];
    if (row.startedAt === null || at < 0) return row;
    if (row.name === 'queue') {
      // Servers' clocks differ: a late one must not end the queue before it began.
      const ends = after?.startedAt ?? row.finishedAt;
      return { ...row, finishedAt: ends === null || ends < row.startedAt ? row.finishedAt : ends };
    }
    const ended = before?.name === 'queue' ? null : before?.finishedAt;
    const startedAt = ended && ended < row.startedAt ? ended : row.startedAt;
    const isLast = after === undefined && end !== null && row.finishedAt !== null && row.finishedAt < end;
    return { ...row, startedAt, finishedAt: isLast ? end : row.finishedAt };
  });
}

/** Closes what the new state leaves behind, and the gaps between the times of steps. */
export function settled(steps: readonly StepRow[], state: DeploymentState, now: Date): StepRow[] {
  return withoutGaps(closed(steps, state, now), isFinished(state) ? now : null);
}

function closed(steps: readonly StepRow[], state: DeploymentState, now: Date): StepRow[] {
  // A server builds one app at a time, so its build may still wait.
  const isWaiting = state === 'building' && !hasBegunBuild(steps);
  if (state === 'queued' || isWaiting) return [...steps];
  return steps.map((row) => {
    if (row.name === 'queue' && state !== 'cancelled' && state !== 'superseded') return finish(row, 'done', now);
    if (state === 'building') return row;
    if (state === 'releasing' || state === 'rolling_out') {
      return buildSteps.has(row.name) ? finish(row, 'done', now) : row;
    }
    if (state === 'live') return row.state === 'running' ? finish(row, 'done', now) : skip(row);
    if (state === 'failed') return row.state === 'running' ? finish(row, 'failed', now) : skip(row);
    return row.state === 'running' ? finish(row, 'skipped', now) : skip(row);
  });
}

/** False while the build waits for its turn on the server. */
function hasBegunBuild(steps: readonly Pick<StepRow, 'name' | 'startedAt'>[]): boolean {
  return steps.some(({ name, startedAt }) => buildSteps.has(name) && startedAt !== null);
}

function finish(row: StepRow, state: StepState, now: Date): StepRow {
  if (row.state !== 'running' && row.state !== 'pending') return row;
  return { ...row, state, startedAt: row.startedAt ?? now, finishedAt: now };
}

function skip(row: StepRow): StepRow {
  return row.state === 'pending' ? { ...row, state: 'skipped' } : row;
}
