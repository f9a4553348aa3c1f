'use client';
import { buttonClass } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { useFormats } from '@fairlead/ui/formats';
import { PageHeader } from '@fairlead/ui/page-header';
import { Skeleton, SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Overview } from '../../api/types.ts';
import { useLiveServerFigures } from '../../common/app/use-live-figures.ts';
import { useMe } from '../../common/organization/me.tsx';
// Overview page: first steps, then problems, totals, apps and servers.
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useProjectFilter } from '../../common/project/project-filter.ts';
import { ProjectSwitcher } from '../../common/project/project-switcher.tsx';
import { ServerCard } from '../../common/server/server-card.tsx';
import { Attention, type AttentionProject } from './attention.tsx';
import { Checklist } from './checklist.tsx';
import { OverviewAppRows } from './overview-app-rows.tsx';
import { Totals } from './totals.tsx';

/** Refetch interval in milliseconds; changes are refetched at once. */
const REREAD_EVERY_MS = 10_000;

export function OverviewPage() {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const project = useProjectFilter();
  const overview = useQuery({
    ...trpc.overview.get.queryOptions(project.input),
    placeholderData: keepPreviousData,
    // No event tells of new totals.
    refetchInterval: REREAD_EVERY_MS,
  });
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          title="Overview"
          pill={<ProjectSwitcher />}
          actions={
            can('app.write') ? (
              <HoverLink href={paths.newApp} className={buttonClass('accent')}>
                <Plus size={16} aria-hidden="true" />
                New app
              </HoverLink>
            ) : null
          }
        />
        <QueryView query={overview} skeleton={<OverviewSkeleton />}>
          {(data) => <OverviewBody overview={data} projectId={project.input.projectId} />}
        </QueryView>
      </Page>
    </OrganizationLive>
  );
}

interface OverviewBodyProps {
  readonly overview: Overview;
  /** The only project that is shown; undefined shows all. */
  readonly projectId: AttentionProject;
}

function OverviewBody({ overview, projectId }: OverviewBodyProps) {
  const { plural } = useFormats();
  const { isOperator, paths } = useMe();
  const warnings = useQuery(useTRPC().controlPlane.listNotices.queryOptions(undefined, { enabled: isOperator }));
  const apps = projectId === undefined ? paths.apps : paths.projectApps(projectId);
  return (
    <div className="flex flex-col gap-6">
      {overview.checklist === null ? null : <Checklist steps={overview.checklist} />}
      <Attention attention={overview.attention} warnings={warnings.data?.items ?? []} projectId={projectId} />
      <Totals totals={overview.totals} />
      <Card>
        <CardHeader
          title="Apps"
          detail={plural(overview.appCount, 'app')}
          action={<MoreLink href={apps} shown={overview.apps.length} all={overview.appCount} what="apps" />}
        />
        {overview.apps.length === 0 ? (
          <NoApps filtered={projectId !== undefined} />
        ) : (
          <OverviewAppRows apps={overview.apps} />
        )}
      </Card>
      <Servers overview={overview} />
    </div>
  );
}

function Servers({ overview }: { readonly overview: Overview }) {
  const { plural } = useFormats();
  const { paths, can } = useMe();
  const figures = useLiveServerFigures();
  return (
    <section>
      <div className="mb-2 flex min-h-8 items-center gap-3">
        <h2 className="font-semibold text-lg">Servers</h2>
        <span className="text-sm text-ink-faint">{plural(overview.serverCount, 'server')}</span>
        <span className="ml-auto flex items-center gap-3">
          <MoreLink href={paths.servers} shown={overview.servers.length} all={overview.serverCount} what="servers" />
          {can('server.enrol') ? (
            <HoverLink href={paths.addServer} className={buttonClass('plain', 'small')}>
              Add server
            </HoverLink>
          ) : null}
        </span>
      </div>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-3">
        {overview.servers.map((server) => (
          <ServerCard key={server.id} server={server} sample={figures.get(server.id)} level={3} />
        ))}
      </div>
    </section>
  );
}

function MoreLink(props: {
  readonly href: string;
  readonly shown: number;
  readonly all: number;
  readonly what: string;
}) {
  return props.shown >= props.all ? null : (
    <HoverLink href={props.href} className="rounded-mark text-sm text-ink-soft hover:text-ink">
      All {props.all} {props.what}
    </HoverLink>
  );
}

function NoApps({ filtered }: { readonly filtered: boolean }) {
  const { paths, can } = useMe();
  return (
    <EmptyState
      title={filtered ? 'No apps in this project' : 'Deploy your first app'}
      action={
        can('app.write') ? (
          <HoverLink href={paths.newApp} className={buttonClass('accent')}>
            New app
          </HoverLink>
        ) : null
      }
    >
      Choose a repository, an image or a folder. Fairlead builds it on your server, runs a health check, and serves it
      over HTTPS.
    </EmptyState>
  );
}

function OverviewSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <Skeleton className="h-11 w-full" />
      <Skeleton className="h-[92px] w-full" />
      <Card>
        <CardHeader title="Apps" />
        <SkeletonRows rows={4} />
      </Card>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-3">
        <Skeleton className="h-[132px]" />
        <Skeleton className="h-[132px]" />
        <Skeleton className="h-[132px]" />
      </div>
    </div>
  );
}
