// Owns the procedures of charts.
import {
  appMetricInputSchema,
  appMetricSchema,
  getAppMetric,
  getServerMetric,
  listRouteMetrics,
  routeMetricsSchema,
  serverMetricInputSchema,
  serverMetricSchema,
} from '@fairlead/core/metric';
import { memberProcedure, router } from '../ladder.ts';
import { byPlacement } from '../scopes.ts';

export const metricRouter = router({
  app: memberProcedure('metric.read', { input: appMetricInputSchema, scope: byPlacement })
    .output(appMetricSchema)
    .query(({ ctx, input }) => getAppMetric(ctx.core, input)),

  // Shown beside the app's own charts, so opened by the same grants.
  routes: memberProcedure('metric.read', { input: appMetricInputSchema, scope: byPlacement })
    .output(routeMetricsSchema)
    .query(({ ctx, input }) => listRouteMetrics(ctx.core, input)),

  server: memberProcedure('metric.read', { input: serverMetricInputSchema })
    .output(serverMetricSchema)
    .query(({ ctx, input }) => getServerMetric(ctx.core, input)),
});
