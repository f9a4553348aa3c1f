export { prepareMetrics, pruneMetrics } from './prune-metrics.ts';
export { recordFrames } from './record-frames.ts';
export { rollUpMetrics } from './roll-up-metrics.ts';
export * from './schema.ts';
