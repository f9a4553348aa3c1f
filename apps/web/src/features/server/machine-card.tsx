'use client';
// Card with a server's charts and the choice of their period.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { cn } from '@fairlead/ui/lib/class-names';
import { Skeleton } from '@fairlead/ui/skeleton';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { useDeferredValue, useEffect } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { refetchIntervalMs, takesLiveSamples } from '../../common/chart/period.ts';
import { PeriodControl } from '../../common/chart/period-control.tsx';
import { neighboursOf } from '../../common/chart/ranges.ts';
import { usePeriod } from '../../common/chart/use-period.ts';
import { QueryView } from '../../common/page/query-view.tsx';
import { NoSamples } from './no-samples.tsx';

const ServerCharts = dynamic(() => import('./server-charts.tsx').then((module) => module.ServerCharts), {
  ssr: false,
  loading: () => <ChartsSkeleton />,
});

export function MachineCard({ server }: { readonly server: ServerDetail }) {
  const { plural } = useFormats();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const state = usePeriod('15m');
  const { isCompared } = state;
  // The choice shows at once; the charts follow, because they take a while to draw.
  const period = useDeferredValue(state.period);
  const { id: serverId, host } = server;
  const metric = useQuery({
    ...trpc.metric.server.queryOptions({ serverId, ...period.input }),
    refetchInterval: refetchIntervalMs(period),
    placeholderData: keepPreviousData,
  });
  const previous = useQuery({
    ...trpc.metric.server.queryOptions({ serverId, ...period.input, previous: true }),
    refetchInterval: refetchIntervalMs(period),
    enabled: isCompared,
  }).data;
  const { range } = period;
  useEffect(() => {
    for (const each of range === null ? [] : neighboursOf(range))
      void queryClient.prefetchQuery(trpc.metric.server.queryOptions({ serverId, range: each }));
  }, [queryClient, trpc, serverId, range]);
  return (
    <Card>
      <CardHeader title="Machine" detail={host.cpuCount === 0 ? null : plural(host.cpuCount, 'core')} />
      <PeriodControl state={state} shown={metric.data ?? null} />
      <div className={cn('transition-opacity duration-120', metric.isPlaceholderData && 'opacity-60')}>
        <QueryView query={metric} skeleton={<ChartsSkeleton />}>
          {(data) =>
            // An offline server sends no live samples either: the charts would load only to show this.
            server.state === 'offline' && data.points.every((point) => point.memoryUsedBytes === null) ? (
              <NoSamples />
            ) : (
              <ServerCharts
                server={server}
                metric={data}
                previous={isCompared ? previous : undefined}
                isLive={takesLiveSamples(period) && !metric.isPlaceholderData}
                onZoom={({ from, to }) => state.setSpan({ from: new Date(from), to: new Date(to) })}
              />
            )
          }
        </QueryView>
      </div>
    </Card>
  );
}

function ChartsSkeleton() {
  return (
    <div className="grid grid-cols-1 gap-x-8 gap-y-6 px-4 pt-2 pb-[34px] lg:grid-cols-2">
      {['cpu', 'memory', 'network', 'disk', 'connections', 'agent'].map((name) => (
        <Skeleton key={name} className="h-[192px]" />
      ))}
    </div>
  );
}
