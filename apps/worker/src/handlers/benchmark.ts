// Jobs of benchmarks.
import { pruneBenchmarks } from '@fairlead/core/benchmark';
import type { Handler } from './handler.ts';

// Maximum number of batches per run; the rest waits for the next hour.
const batchesMax = 50;

export const pruneBenchmarksHandler: Handler<'benchmark.prune'> = async ({ database, clock, log }) => {
  for (let batch = 0; batch < batchesMax; batch += 1) {
    if (!(await database.system('benchmark.prune', (tx) => pruneBenchmarks({ tx, clock, log })))) break;
  }
};
