'use client';
// Overview of an app: current figures, then charts with a shared time axis, a cursor and deployment markers.
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { repositoryName, shortHash } from '@fairlead/ui/lib/format';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Range } from '../../api/types.ts';
import { firstDeployHint, placementOf, useAppInEnvironment } from '../../common/app/app-placement.ts';
import { usePeriod } from '../../common/chart/use-period.ts';
import { DeploymentRows } from '../../common/deployment/deployment-rows.tsx';
import { LastFailure } from '../../common/deployment/last-failure.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { Figures } from './figures.tsx';
import { Instances } from './instances.tsx';
import { RepositoryNotice } from './repository-notice.tsx';
import { Routes } from './routes.tsx';
import { TrafficCard } from './traffic-card.tsx';

export interface AppLivePageProps {
  readonly slug: string;
  readonly initial: AppDetail;
  /** Range of the charts when the URL names none. */
  readonly initialRange: Range;
}

export function AppLivePage({ slug, initial, initialRange }: AppLivePageProps) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const state = usePeriod(initialRange);
  const { app, linkEnvironmentId } = useAppInEnvironment(slug, initial);
  const placement = { appId: app.id, environmentId: app.environmentId };
  // Current figures have short steps, whatever the charts show.
  const newest = useQuery(trpc.metric.app.queryOptions({ ...placement, range: '15m' }));
  const deployments = useQuery(trpc.deployment.list.queryOptions({ ...placement, limit: 5 }));

  return (
    <div className="flex flex-col gap-6">
      <LastFailure deployment={deployments.data?.items[0]} />
      <RepositoryNotice appId={app.id} />
      <Figures
        key={app.environmentId}
        app={app}
        points={newest.data?.points ?? []}
        stepMs={newest.data?.stepMs ?? 0}
        loadedAt={newest.dataUpdatedAt}
      />
      <TrafficCard key={`traffic ${app.environmentId}`} app={app} state={state} />
      <Instances app={app} />
      <Routes app={app} period={state.period} />
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

function Source({ app }: { readonly app: AppDetail }) {
  const { paths, can } = useMe();
  const servers = placementOf(app)?.servers ?? [app];
  const rows = [
    ...(app.image !== null
      ? [{ term: 'Image', value: app.image }]
      : app.repositoryUrl === ''
        ? [app.template === null ? { term: 'Folder', value: 'uploaded' } : { term: 'Template', value: app.template }]
        : [
            { term: 'Repository', value: repositoryName(app.repositoryUrl) },
            { term: 'Branch', value: app.branch || 'default' },
          ]),
    ...(app.rootFolder === '' ? [] : [{ term: 'Root folder', value: app.rootFolder }]),
    ...(app.liveRelease === null ? [] : [{ term: 'Live commit', value: shortHash(app.liveRelease.commitHash) }]),
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
      {app.template !== null && can('app.write', app) ? (
        <p className="border-line border-t px-4 py-3 text-pretty text-ink-soft text-sm">
          To deploy your own code, press Upload, or enter a Git repository in{' '}
          <HoverLink href={paths.appSettingsIn('source')(app.slug)} className="rounded-mark underline">
            Source & build
          </HoverLink>
          .
        </p>
      ) : null}
    </Card>
  );
}
