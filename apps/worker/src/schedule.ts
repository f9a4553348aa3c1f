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
 * Runs interval jobs at once and then periodically, never two of one kind at a time, until the returned function is
 * called.
 */
export function startIntervals(run: (name: JobName) => Promise<void>): () => Promise<void> {
  const running = new Map<JobName, Promise<void>>();
  const timers = names.flatMap((name) => {
    const { every } = jobs[name];
    if (every === null || !('intervalMs' in every)) return [];
    const turn = () => {
      if (running.has(name)) return;
      running.set(
        name,
        run(name).finally(() => running.delete(name)),
      );
    };
    turn();
    return [setInterval(turn, every.intervalMs)];
  });
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all(running.values());
  };
}
