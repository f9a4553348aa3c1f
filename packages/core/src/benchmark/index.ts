export { cancelBenchmark } from './cancel-benchmark.ts';
export { createBenchmark } from './create-benchmark.ts';
export { endBenchmarks } from './end-benchmarks.ts';
export { failOverdueBenchmarks } from './fail-overdue-benchmarks.ts';
export { getBenchmark } from './get-benchmark.ts';
export { listBenchmarks } from './list-benchmarks.ts';
export { pruneBenchmarks } from './prune-benchmarks.ts';
export { recordBenchmarks } from './record-benchmarks.ts';
export * from './schema.ts';
