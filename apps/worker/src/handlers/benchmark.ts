// Jobs of benchmarks.
import { pruneBenchmarks } from '@fairlead/core/benchmark';
import { runBenchmarkEvent } from '@fairlead/core/benchmark-event';
import { advanceSchedule, findDuePlans } from '@fairlead/core/benchmark-plan';
import type { Handler } from './handler.ts';

// Maximum number of batches per run; the rest waits for the next hour.
const batchesMax = 50;

export const pruneBenchmarksHandler: Handler<'benchmark.prune'> = async ({ database, clock, log }) => {
  for (let batch = 0; batch < batchesMax; batch += 1) {
    if (!(await database.system('benchmark.prune', (tx) => pruneBenchmarks({ tx, clock, log })))) break;
  }
};

export const benchmarkEventHandler: Handler<'benchmark.event'> = async (
  { database, clock, log },
  { organizationId, runId },
) => {
  const actor = { kind: 'system', reason: 'benchmark.event' } as const;
  await database.tenant(organizationId, (tx) =>
    runBenchmarkEvent({ tx, organizationId, actor, clock, log }, { runId }),
  );
};

const actor = { kind: 'system', reason: 'benchmark.schedule' } as const;

/** Each plan is a transaction of its own, and one that fails does not block the others: the next run tries it again. */
export const scheduleBenchmarksHandler: Handler<'benchmark.schedule'> = async ({ database, clock, log }) => {
  const due = await database.system('benchmark.schedule', (tx) => findDuePlans({ tx, clock, log }));
  for (const { organizationId, planId } of due) {
    try {
      await database.tenant(organizationId, (tx) =>
        advanceSchedule({ tx, organizationId, actor, clock, log }, { planId }),
      );
    } catch (error) {
      log.error({ err: error, organizationId, planId }, 'a scheduled benchmark was not started for now');
    }
  }
};
