// Jobs of benchmark runs.
import { failOverdueBenchmarks } from '@fairlead/core/benchmark';
import type { Handler } from './handler.ts';

export const sweepBenchmarksHandler: Handler<'benchmark.sweep'> = async ({ database, clock, log }) => {
  await database.system('benchmark.sweep', (tx) => failOverdueBenchmarks({ tx, clock, log }));
};
