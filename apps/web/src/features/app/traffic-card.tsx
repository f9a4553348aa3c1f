'use client';
// Card with an app's charts: totals of the period, choice of the period, and one message if there is nothing to draw.
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { type Formats, useFormats } from '@fairlead/ui/formats';
import { cn } from '@fairlead/ui/lib/class-names';
import { Skeleton } from '@fairlead/ui/skeleton';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { useDeferredValue, useEffect, useMemo } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, AppMetric } from '../../api/types.ts';
import { placementOf } from '../../common/app/app-placement.ts';
import { chartRows } from '../../common/chart/chart-rows.ts';
import { refetchIntervalMs, takesLiveSamples } from '../../common/chart/period.ts';
import { PeriodControl } from '../../common/chart/period-control.tsx';
import { neighboursOf } from '../../common/chart/ranges.ts';
import { appRows, deployMarkers, liveAppRows } from '../../common/chart/series.ts';
import { useLiveSamples } from '../../common/chart/use-live-samples.ts';
import type { PeriodState } from '../../common/chart/use-period.ts';
import { coresOf, streamedTotals } from '../../common/figure/figures.ts';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';

const AppCharts = dynamic(() => import('./app-charts.tsx').then((module) => module.AppCharts), {
  ssr: false,
  loading: () => <ChartsSkeleton hasRequests />,
});
/** The same charts without those of requests, with a skeleton of their height. */
const UsageCharts = dynamic(() => import('./app-charts.tsx').then((module) => module.AppCharts), {
  ssr: false,
  loading: () => <ChartsSkeleton hasRequests={false} />,
});

export interface TrafficCardProps {
  readonly app: AppDetail;
  readonly state: PeriodState;
}

export function TrafficCard({ app, state }: TrafficCardProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const { isCompared } = state;
  // The choice shows at once; the charts follow, because they take a while to draw.
  const period = useDeferredValue(state.period);
  const { id: appId, environmentId } = app;
  const metric = useQuery({
    ...trpc.metric.app.queryOptions({ appId, environmentId, ...period.input }),
    refetchInterval: refetchIntervalMs(period),
    placeholderData: keepPreviousData,
  });
  const previous = useQuery({
    ...trpc.metric.app.queryOptions({ appId, environmentId, ...period.input, previous: true }),
    refetchInterval: refetchIntervalMs(period),
    enabled: isCompared,
  }).data;
  const { range } = period;
  useEffect(() => {
    for (const each of range === null ? [] : neighboursOf(range))
      void queryClient.prefetchQuery(trpc.metric.app.queryOptions({ appId, environmentId, range: each }));
  }, [queryClient, trpc, appId, environmentId, range]);

  const streamed = useLiveSamples((event) =>
    event.type === 'app.sample' && event.appId === appId && event.environmentId === environmentId ? event : null,
  );
  const samples = takesLiveSamples(period) && !metric.isPlaceholderData ? streamed : NO_SAMPLES;
  const servers = app.serverCount;
  const formats = useFormats();
  return (
    <Card>
      <CardHeader
        title={servers > 1 ? `Traffic and resources of ${servers} servers` : 'Traffic and resources'}
        detail={metric.data === undefined ? null : totalsText(streamedTotals(metric.data, samples), formats)}
      />
      <PeriodControl state={state} shown={metric.data ?? null} />
      <div className={cn('transition-opacity duration-120', metric.isPlaceholderData && 'opacity-60')}>
        <QueryView query={metric} skeleton={<ChartsSkeleton hasRequests />}>
          {(data) => (
            <Charts
              app={app}
              metric={data}
              previous={isCompared ? previous : undefined}
              samples={samples}
              onZoom={({ from, to }) => state.setSpan({ from: new Date(from), to: new Date(to) })}
            />
          )}
        </QueryView>
      </div>
    </Card>
  );
}

type Samples = Parameters<typeof streamedTotals>[1];
const NO_SAMPLES: Samples = [];

interface ChartsProps {
  readonly app: AppDetail;
  readonly metric: AppMetric;
  readonly previous: AppMetric | undefined;
  readonly samples: Samples;
  readonly onZoom: (span: { readonly from: number; readonly to: number }) => void;
}

function Charts({ app, metric, previous, samples, onZoom }: ChartsProps) {
  const { paths } = useMe();
  const cores = coresOf(placementOf(app)?.servers ?? []);
  const { stepMs } = metric;
  const fetched = useMemo(() => appRows(metric.points, cores), [metric, cores]);
  const { rows, span } = useMemo(
    () => chartRows(metric, fetched, liveAppRows(samples, stepMs, cores)),
    [metric, fetched, samples, stepMs, cores],
  );
  const before = useMemo(
    () =>
      previous === undefined
        ? undefined
        : { rows: appRows(previous.points, cores), shiftMs: metric.from.getTime() - previous.from.getTime() },
    [previous, metric, cores],
  );
  const markers = useMemo(() => deployMarkers(metric.markers, paths.deployment), [metric, paths]);
  const hasRequests = [...rows, ...(before?.rows ?? [])].some(({ values }) => (values.requests ?? 0) > 0);
  if (!hasRequests && rows.every(({ values }) => values.memory === null)) {
    return (
      <EmptyState title="No data in this period">
        The app had no requests and no running instance. Choose a longer or another period.
      </EmptyState>
    );
  }
  const props = { rows, span, stepMs, markers, previous: before, hasRequests, onZoom };
  return hasRequests ? <AppCharts {...props} /> : <UsageCharts {...props} />;
}

function totalsText(totals: ReturnType<typeof streamedTotals>, { plural, formatMs }: Formats): string {
  const { requests, errors, clientErrors, p99Ms } = totals;
  return [
    plural(requests, 'request'),
    plural(clientErrors, 'client error'),
    plural(errors, 'server error'),
    `p99 ${formatMs(p99Ms)}`,
  ].join(', ');
}

function ChartsSkeleton({ hasRequests }: { readonly hasRequests: boolean }) {
  return (
    <div className="grid grid-cols-1 gap-x-8 gap-y-6 px-4 pt-2 pb-[34px] lg:grid-cols-2">
      <Skeleton className={hasRequests ? 'h-[232px] lg:col-span-2' : 'h-[44px] lg:col-span-2'} />
      {hasRequests ? (
        <>
          <Skeleton className="h-[192px]" />
          <Skeleton className="h-[192px]" />
        </>
      ) : null}
      <Skeleton className="h-[192px]" />
      <Skeleton className="h-[192px]" />
    </div>
  );
}
