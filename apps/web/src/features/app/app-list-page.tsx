'use client';
// Lists apps, with filters and the sort order in the URL.
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Plus, SquareStack } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppSummary } from '../../api/types.ts';
import { refetchInterval } from '../../common/app/app-row.ts';
import { AttentionFilterNote, useAttentionFilter } from '../../common/attention/attention-filter.tsx';
import { appLook } from '../../common/deployment/states.ts';
import { ColumnMenu, useColumns } from '../../common/list/columns.tsx';
import { FilterBar } from '../../common/list/filter-bar.tsx';
import { activeFilters, useMenuFilter } from '../../common/list/list-filter.ts';
import { ListFooter } from '../../common/list/list-footer.tsx';
import { NoMatches } from '../../common/list/no-matches.tsx';
import { useListSort } from '../../common/list/sort.tsx';
import { useChosenProject, useEnvironmentFilter, useServerFilter } from '../../common/list/thing-filters.ts';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlSearch } from '../../common/page/use-url-state.ts';
import { useProjectFilter } from '../../common/project/project-filter.ts';
import { ProjectSwitcher } from '../../common/project/project-switcher.tsx';
import { type AppColumn, AppTable, appColumns } from './app-table.tsx';
import { type AppFilterName, appInput, appSorts, appStates } from './filter.ts';
import { SELECTED_MAX, SelectedApps } from './selected-apps.tsx';
import { useSelection } from './use-selection.ts';

const STATES = appStates.map((state) => ({ value: state, label: appLook[state].label }));

export function AppListPage() {
  return (
    <OrganizationLive>
      <Page>
        <PageHeader title="Apps" pill={<ProjectSwitcher />} actions={<AppListActions />} />
        <AppList />
      </Page>
    </OrganizationLive>
  );
}

function AppListActions() {
  const { paths, can, canAnywhere } = useMe();
  return (
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
  );
}

function AppList() {
  const search = { ...useUrlSearch(), label: 'Search apps' };
  const project = useProjectFilter();
  const state = useMenuFilter('state', { label: 'State', all: 'All states', options: STATES });
  const environment = useEnvironmentFilter();
  const server = useServerFilter();
  const sort = useListSort({ sorts: appSorts, ascending: ['name'] });
  const columns = useColumns<AppColumn>('apps', appColumns);
  const selection = useSelection<AppSummary>(SELECTED_MAX);
  const filters = [state, environment, server].filter((filter) => filter !== null);
  const attention = useAttentionFilter();
  const chosenProject = useChosenProject();
  const hiding = [...attention.active, ...activeFilters(search.value, filters)];
  const values = new Map<string, string>(filters.map(({ name, value }) => [name, value]));
  const filtered = appInput((name: AppFilterName) => (name === 'search' ? search.value : (values.get(name) ?? '')));
  const apps = useInfiniteQuery({
    ...useTRPC().app.list.infiniteQueryOptions(
      { ...filtered, ...project.input, ...attention.input, ...sort.input },
      { getNextPageParam: (page) => page.nextCursor },
    ),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => refetchInterval(query.state.data?.pages.flatMap((page) => page.items)),
  });
  return (
    <>
      <AttentionFilterNote />
      <FilterBar search={search} filters={filters} others={attention.active} sort={sort.menu}>
        <ColumnMenu choice={columns} />
      </FilterBar>
      <Card>
        <QueryView query={apps} skeleton={<SkeletonRows rows={8} />}>
          {(data) => {
            const items = uniqueApps(data.pages.flatMap((page) => page.items));
            if (items.length === 0) {
              if (hiding.length > 0) return <NoMatches noun="apps" active={[...chosenProject, ...hiding]} />;
              return <NoApps isOneProject={chosenProject.length > 0} />;
            }
            return (
              <>
                <AppTable apps={items} sort={sort} isShown={columns.isShown} selection={selection} />
                <ListFooter
                  query={apps}
                  shown={items.length}
                  total={data.pages[0]?.total ?? null}
                  noun={['app', 'apps']}
                />
              </>
            );
          }}
        </QueryView>
      </Card>
      <SelectedApps selection={selection} />
    </>
  );
}

/** Figures change between two pages, so an app may be on both. */
function uniqueApps(apps: readonly AppSummary[]): readonly AppSummary[] {
  return [...new Map(apps.map((app) => [app.id, app])).values()];
}

function NoApps({ isOneProject }: { readonly isOneProject: boolean }) {
  const { paths, can } = useMe();
  return (
    <EmptyState
      icon={<SquareStack size={20} />}
      title={isOneProject ? 'No apps in this project' : 'No apps yet'}
      action={
        can('app.write') ? (
          <>
            <HoverLink href={paths.newAppFromTemplate} className={buttonClass()}>
              Start from a template
            </HoverLink>
            <HoverLink href={paths.newApp} className={buttonClass('accent')}>
              New app
            </HoverLink>
          </>
        ) : null
      }
    >
      An app is a Git repository, an image or a folder that Fairlead runs on your servers. It builds what needs a build.
    </EmptyState>
  );
}
