export { runBenchmarkEvent } from './run-event.ts';
