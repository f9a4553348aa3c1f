// Recurring jobs. Jobs by the minute are the queue's cron, which several workers share; shorter intervals are timers
// here, safe in several workers because their verbs lock what they touch.
import { type JobName, jobs } from '@fairlead/contract/jobs';
import { type ParsedCronItem, parseCronItems } from 'graphile-worker';

const names = Object.keys(jobs) as JobName[];

export function cronItems(): ParsedCronItem[] {
  const items = names.flatMap((name) => {
    const { every, attemptsMax } = jobs[name];
    if (every === null || !('cron' in every)) return [];
    // No backfill: each run processes everything due, also from minutes when no worker ran.
    return [
      { task: name, identifier: name, match: every.cron, options: { backfillPeriod: 0, maxAttempts: attemptsMax } },
    ];
  });
  return parseCronItems(items);
}

/**
 * Runs interval jobs at once and then periodically, no more of one kind at a time than it allows, until the returned
 * function is called.
 */
export function startIntervals(run: (name: JobName) => Promise<void>): () => Promise<void> {
  const running = new Map<JobName, Set<Promise<void>>>();
  const timers = names.flatMap((name) => {
    const { every } = jobs[name];
    if (every === null || !('intervalMs' in every)) return [];
    const { intervalMs, runsMax = 1 } = every;
    const own = new Set<Promise<void>>();
    running.set(name, own);
    const turn = () => {
      if (own.size >= runsMax) return;
      const started = run(name).finally(() => own.delete(started));
      own.add(started);
    };
    turn();
    return [setInterval(turn, intervalMs)];
  });
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all([...running.values()].flatMap((own) => [...own]));
  };
}
