export { getAppMetric } from './get-app-metric.ts';
export { getServerMetric } from './get-server-metric.ts';
export { listRouteMetrics } from './list-route-metrics.ts';
export { loadTraffic, noTraffic, type Traffic, type TrafficTarget } from './load-traffic.ts';
export { type MovedTable, type MoveMetricsInput, movedTables, moveMetrics } from './move-metrics.ts';
export { prepareMetrics, pruneMetrics } from './prune-metrics.ts';
export { recordFrames } from './record-frames.ts';
export { rollUpMetrics } from './roll-up-metrics.ts';
export * from './schema.ts';
