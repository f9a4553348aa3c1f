// Procedures of charts.
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
import { memberProcedure, router } from '../procedures.ts';
import { byPlacement } from '../scopes.ts';

export const metricRouter = router({
  app: memberProcedure('metric.read', { input: appMetricInputSchema, scope: byPlacement })
    .output(appMetricSchema)
    .query(({ ctx, input }) => getAppMetric(ctx.core, input)),

  // The routes appear beside the app's own charts, so the same grants open them.
  routes: memberProcedure('metric.read', { input: appMetricInputSchema, scope: byPlacement })
    .output(routeMetricsSchema)
    .query(({ ctx, input }) => listRouteMetrics(ctx.core, input)),

  server: memberProcedure('metric.read', { input: serverMetricInputSchema })
    .output(serverMetricSchema)
    .query(({ ctx, input }) => getServerMetric(ctx.core, input)),
});
