// Jobs of benchmarks.
import { pruneBenchmarks } from '@fairlead/core/benchmark';
import { runBenchmarkEvent } from '@fairlead/core/benchmark-event';
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
  const actor = { kind: 'system', reason: 'a benchmark deploys under load' } as const;
  await database.tenant(organizationId, (tx) =>
    runBenchmarkEvent({ tx, organizationId, actor, clock, log }, { runId }),
  );
};
