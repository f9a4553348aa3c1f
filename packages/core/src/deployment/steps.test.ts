import { describe, expect, it } from 'vitest';
import { firstSteps, type StepRow, settled, withReported } from './steps.ts';

const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1000);

function done(name: string, from: number, to: number): StepRow {
  return { name, state: 'done', startedAt: at(from), finishedAt: at(to) };
}

/** Applies reports in turn, as the machine does. */
function told(...reports: [StepRow[], 'building' | 'releasing' | 'rolling_out' | 'live', number][]): StepRow[] {
  const begin = firstSteps(true, at(0));
  return reports.reduce((steps, [rows, state, now]) => settled(withReported(steps, rows), state, at(now)), begin);
}

describe('the times of steps', () => {
  it('add up to the time from its queueing to its end', () => {
    const build = [done('clone', 12, 15), done('build', 16, 40), done('pack', 40, 42)];
    const rollout = [done('start', 45, 47), done('health', 47, 50), done('switch', 51, 52), done('drain', 52, 60)];
    const steps = told([[], 'building', 2], [build, 'building', 42], [build, 'releasing', 43], [rollout, 'live', 61]);
    const begun = steps.filter(({ startedAt }) => startedAt !== null);
    expect(begun.map(({ name }) => name)).toEqual([
      'queue',
      'clone',
      'build',
      'pack',
      'start',
      'health',
      'switch',
      'drain',
    ]);
    for (const [index, step] of begun.entries()) {
      expect(step.finishedAt, step.name).toEqual(begun[index + 1]?.startedAt ?? at(61));
    }
  });

  it('keep the queue running while the server builds something else', () => {
    expect(told([[], 'building', 2])[0]).toMatchObject({ name: 'queue', state: 'running', finishedAt: null });
    const cloning: StepRow = { name: 'clone', state: 'running', startedAt: at(30), finishedAt: null };
    expect(told([[], 'building', 2], [[cloning], 'building', 31])[0]).toEqual(done('queue', 0, 30));
  });

  it('count a fetch that the start waited for', () => {
    const steps = told([[done('pack', 5, 10), done('fetch', 12, 20), done('start', 20, 22)], 'rolling_out', 22]);
    expect(steps.filter(({ startedAt }) => startedAt !== null).slice(-3)).toEqual([
      done('pack', 5, 10),
      done('fetch', 10, 20),
      done('start', 20, 22),
    ]);
  });

  it('count the rollback of other servers to the step that failed', () => {
    const failed: StepRow = { name: 'health', state: 'failed', startedAt: at(5), finishedAt: at(9) };
    const begin = told([[done('start', 2, 5)], 'rolling_out', 5]);
    const ended = settled(withReported(begin, [failed]), 'failed', at(20));
    expect(ended.find(({ name }) => name === 'health')).toEqual({ ...failed, finishedAt: at(20) });
  });

  it('survive a clock that is behind, and leave a fetch beside them alone', () => {
    const late = told([[done('clone', -100, -90), done('fetch', 5, 9)], 'building', 3]);
    expect(late[0]).toEqual(done('queue', 0, 3));
    expect(late.find(({ name }) => name === 'fetch')).toEqual(done('fetch', 5, 9));
  });
});
