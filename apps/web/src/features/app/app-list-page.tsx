'use client';
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { SearchInput } from '@fairlead/ui/search-input';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Plus, SquareStack } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import { AppRows, refetchInterval } from '../../common/app/app-rows.tsx';
import { useMe } from '../../common/organization/me.tsx';
// Lists apps, with a search and a project in the URL.
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { LoadMore } from '../../common/page/load-more.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlSearch } from '../../common/page/use-url-state.ts';
import { useProjectFilter } from '../../common/project/project-filter.ts';
import { ProjectSwitcher } from '../../common/project/project-switcher.tsx';

export function AppListPage() {
  const { paths, can, canAnywhere } = useMe();
  const trpc = useTRPC();
  const search = useUrlSearch();
  const project = useProjectFilter();
  const apps = useInfiniteQuery({
    ...trpc.app.list.infiniteQueryOptions(
      { search: search.value, ...project.input },
      { getNextPageParam: (page) => page.nextCursor },
    ),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => refetchInterval(query.state.data?.pages.flatMap((page) => page.items)),
  });
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          title="Apps"
          pill={<ProjectSwitcher />}
          actions={
            <>
              {canAnywhere('app.delete') ? (
                <HoverLink href={paths.deletedApps} className={buttonClass()}>
                  Recently deleted
                </HoverLink>
              ) : null}
              {can('app.write') ? (
                <HoverLink href={paths.newApp} className={buttonClass('accent')}>
                  <Plus size={16} aria-hidden="true" />
                  New app
                </HoverLink>
              ) : null}
            </>
          }
        />
        <SearchInput
          label="Search apps"
          value={search.typed}
          onValueChange={search.setTyped}
          className="mb-4 sm:max-w-80"
        />
        <Card>
          <QueryView query={apps} skeleton={<SkeletonRows rows={8} />}>
            {(data) => {
              const items = data.pages.flatMap((page) => page.items);
              if (items.length === 0)
                return <NoApps searched={search.value} filtered={project.input.projectId !== undefined} />;
              return (
                <>
                  <AppRows apps={items} />
                  <LoadMore query={apps} />
                </>
              );
            }}
          </QueryView>
        </Card>
      </Page>
    </OrganizationLive>
  );
}

interface NoAppsProps {
  readonly searched: string;
  /** Only one project is shown. */
  readonly filtered: boolean;
}

function NoApps({ searched, filtered }: NoAppsProps) {
  const { paths, can } = useMe();
  if (searched !== '')
    return <EmptyState title={`No app matches “${searched}”`}>Search by name, address or host.</EmptyState>;
  return (
    <EmptyState
      icon={<SquareStack size={20} />}
      title={filtered ? 'No apps in this project' : 'No apps yet'}
      action={
        can('app.write') ? (
          <HoverLink href={paths.newApp} className={buttonClass('accent')}>
            New app
          </HoverLink>
        ) : null
      }
    >
      An app is a Git repository that Fairlead builds and runs on your servers. Start with its clone URL.
    </EmptyState>
  );
}
