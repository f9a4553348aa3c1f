'use client';
// Page with the deployments of all apps, newest first, with filters in the URL.
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { AttentionFilterNote, useAttentionFilter } from '../../common/attention/attention-filter.tsx';
import { type DeploymentColumn, DeploymentRows, deploymentColumns } from '../../common/deployment/deployment-rows.tsx';
import { ColumnMenu, useColumns } from '../../common/list/columns.tsx';
import { FilterBar } from '../../common/list/filter-bar.tsx';
import { activeFilters } from '../../common/list/list-filter.ts';
import { ListFooter } from '../../common/list/list-footer.tsx';
import { NoMatches } from '../../common/list/no-matches.tsx';
import {
  useAppFilter,
  useChosenProject,
  useEnvironmentFilter,
  useServerFilter,
} from '../../common/list/thing-filters.ts';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useProjectFilter } from '../../common/project/project-filter.ts';
import { ProjectSwitcher } from '../../common/project/project-switcher.tsx';
import { DeploymentRowMenu, useDeploymentRowCalls } from './deployment-row-menu.tsx';
import { useDeploymentFilters, useDeploymentInput } from './use-deployment-filters.ts';

export function DeploymentListPage() {
  const { paths } = useMe();
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          breadcrumb={<Crumbs items={[{ title: 'Apps', href: paths.apps }]} />}
          title="Deployments"
          pill={<ProjectSwitcher />}
          actions={
            <HoverLink href={paths.deliveries} className={buttonClass('plain')}>
              Webhook deliveries
            </HoverLink>
          }
        />
        <AllDeployments />
      </Page>
    </OrganizationLive>
  );
}

function AllDeployments() {
  const trpc = useTRPC();
  const project = useProjectFilter();
  const common = useDeploymentFilters();
  const app = useAppFilter();
  const environment = useEnvironmentFilter();
  const server = useServerFilter();
  const menus = [common.state, app, environment, server, common.branch, common.author];
  const filters = [...menus.filter((filter) => filter !== null), common.from, common.to];
  const columns = useColumns<DeploymentColumn>('deployments', deploymentColumns);
  const attention = useAttentionFilter();
  const active = [...useChosenProject(), ...attention.active, ...activeFilters(common.search.value, filters)];
  const calls = useDeploymentRowCalls();
  const input = {
    ...useDeploymentInput(common.search.value, [...filters, common.order]),
    ...project.input,
    ...attention.input,
  };
  const deployments = useInfiniteQuery({
    ...trpc.deployment.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <AttentionFilterNote />
      <FilterBar search={common.search} filters={filters} others={attention.active} sort={common.order}>
        <ColumnMenu choice={columns} />
      </FilterBar>
      <Card>
        <QueryView query={deployments} skeleton={<SkeletonRows rows={8} />}>
          {(data) => {
            const items = data.pages.flatMap((page) => page.items);
            if (items.length === 0) {
              return active.length > 0 ? (
                <NoMatches noun="deployments" active={active} />
              ) : (
                <EmptyState title="No deployments yet">Open an app and press Deploy.</EmptyState>
              );
            }
            return (
              <>
                <DeploymentRows
                  deployments={items}
                  withApp
                  menuOf={(deployment) => <DeploymentRowMenu deployment={deployment} calls={calls} />}
                  isShown={columns.isShown}
                />
                <ListFooter
                  query={deployments}
                  shown={items.length}
                  total={data.pages[0]?.total ?? null}
                  noun={['deployment', 'deployments']}
                />
              </>
            );
          }}
        </QueryView>
      </Card>
    </>
  );
}
