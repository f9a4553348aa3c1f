'use client';
// Overview of an app: current figures, then charts with a shared time axis, a cursor and deployment markers.
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { formatMs, plural, repositoryName, shortHash } from '@fairlead/ui/lib/format';
import { Skeleton, SkeletonRows } from '@fairlead/ui/skeleton';
import { Segmented } from '@fairlead/ui/tabs';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, AppMetric } from '../../api/types.ts';
import { firstDeployHint, placementOf, useAppInEnvironment } from '../../common/app/app-placement.ts';
import { isRange, ranges, refetchIntervalMs } from '../../common/chart/ranges.ts';
import { DeploymentRows } from '../../common/deployment/deployment-rows.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter } from '../../common/page/use-url-state.ts';
import { Figures } from './figures.tsx';
import { Instances } from './instances.tsx';
import { Routes } from './routes.tsx';

const AppCharts = dynamic(() => import('./app-charts.tsx').then((module) => module.AppCharts), {
  ssr: false,
  loading: () => <ChartsSkeleton />,
});

export function AppLivePage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const filter = useUrlFilter('range');
  const range = isRange(filter.value) ? filter.value : '15m';
  const { app, linkEnvironmentId } = useAppInEnvironment(slug, initial);
  const placement = { appId: app.id, environmentId: app.environmentId };
  const servers = app.serverCount;
  const metric = useQuery({
    ...trpc.metric.app.queryOptions({ ...placement, range }),
    // With several servers each refetch merges the figures; with one server they are streamed.
    refetchInterval: servers > 1 ? Math.min(refetchIntervalMs(range), 10_000) : refetchIntervalMs(range),
    placeholderData: keepPreviousData,
  });
  const deployments = useQuery(trpc.deployment.list.queryOptions({ ...placement, limit: 5 }));

  return (
    <div className="flex flex-col gap-6">
      <Figures app={app} points={metric.data?.points ?? []} />
      <Card>
        <CardHeader
          title={servers > 1 ? `Traffic and resources of ${servers} servers` : 'Traffic and resources'}
          detail={metric.data === undefined ? null : totalsText(metric.data.totals)}
          action={
            <Segmented
              label="Period"
              value={range}
              options={ranges}
              onValueChange={(value) => filter.set(value === '15m' ? '' : value)}
            />
          }
        />
        <QueryView query={metric} skeleton={<ChartsSkeleton />}>
          {(data) => <AppCharts key={app.environmentId} app={app} range={range} metric={data} />}
        </QueryView>
      </Card>
      <Instances app={app} />
      <Routes app={app} range={range} />
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <Card>
          <CardHeader
            title="Latest deployments"
            action={
              <HoverLink
                href={paths.appDeployments(slug, linkEnvironmentId)}
                className="rounded-mark text-sm text-ink-soft hover:text-ink"
              >
                All deployments
              </HoverLink>
            }
          />
          <QueryView query={deployments} skeleton={<SkeletonRows rows={5} />}>
            {(page) =>
              page.items.length === 0 ? (
                <EmptyState title="Not deployed yet">{firstDeployHint(app)}</EmptyState>
              ) : (
                <DeploymentRows deployments={page.items} withApp={false} />
              )
            }
          </QueryView>
        </Card>
        <Source app={app} />
      </div>
    </div>
  );
}

function totalsText({ requests, errors, p99Ms }: AppMetric['totals']): string {
  return `${plural(requests, 'request')}, ${plural(errors, 'error')}, p99 ${formatMs(p99Ms)}`;
}

function Source({ app }: { readonly app: AppDetail }) {
  const { paths } = useMe();
  const servers = placementOf(app)?.servers ?? [app];
  const rows = [
    ...(app.image !== null
      ? [{ term: 'Image', value: app.image }]
      : app.repositoryUrl === ''
        ? [{ term: 'Folder', value: 'uploaded' }]
        : [
            { term: 'Repository', value: repositoryName(app.repositoryUrl) },
            { term: 'Branch', value: app.branch || 'default' },
          ]),
    ...(app.rootFolder === '' ? [] : [{ term: 'Root folder', value: app.rootFolder }]),
    ...(app.liveRelease === null
      ? []
      : [{ term: 'Release', value: `${app.liveRelease.number} · ${shortHash(app.liveRelease.commitHash)}` }]),
  ];
  return (
    <Card>
      <CardHeader title="Source" />
      <dl className="flex flex-col gap-2 px-4 pb-4">
        {rows.map((row) => (
          <div key={row.term} className="flex items-baseline justify-between gap-4">
            <dt className="shrink-0 text-ink-faint">{row.term}</dt>
            <dd className="min-w-0 truncate font-mono text-sm" title={row.value}>
              {row.value}
            </dd>
          </div>
        ))}
        <div className="flex items-baseline justify-between gap-4">
          <dt className="shrink-0 text-ink-faint">{servers.length > 1 ? 'Servers' : 'Server'}</dt>
          <dd className="flex min-w-0 flex-wrap justify-end gap-x-3">
            {servers.map(({ serverId, serverName }) => (
              <HoverLink
                key={serverId}
                href={paths.server(serverId)}
                className="min-w-0 truncate rounded-mark hover:underline"
              >
                {serverName}
              </HoverLink>
            ))}
          </dd>
        </div>
      </dl>
    </Card>
  );
}

function ChartsSkeleton() {
  return (
    <div className="grid grid-cols-1 gap-x-8 gap-y-6 px-4 pt-2 pb-4 lg:grid-cols-2">
      <Skeleton className="h-[232px] lg:col-span-2" />
      <Skeleton className="h-[192px]" />
      <Skeleton className="h-[192px]" />
      <Skeleton className="h-[192px]" />
      <Skeleton className="h-[192px]" />
    </div>
  );
}
