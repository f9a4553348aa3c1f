'use client';
// Pages with the deployments of one app or of all, newest first, with a state filter in the URL.
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Select } from '@fairlead/ui/input';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { firstDeployHint, useAppInEnvironment } from '../../common/app/app-placement.ts';
import { DeploymentRows } from '../../common/deployment/deployment-rows.tsx';
import { deploymentLook, deploymentStates, isDeploymentState } from '../../common/deployment/states.ts';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { LoadMore } from '../../common/page/load-more.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter } from '../../common/page/use-url-state.ts';

export function DeploymentListPage() {
  const { paths } = useMe();
  return (
    <OrganizationLive>
      <Page>
        <PageHeader breadcrumb={<Crumbs items={[{ title: 'Apps', href: paths.apps }]} />} title="Deployments" />
        <DeploymentList placement={null} emptyHint="Open an app and press Deploy." />
      </Page>
    </OrganizationLive>
  );
}

export function AppDeploymentsPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { app } = useAppInEnvironment(slug, initial);
  return (
    <DeploymentList placement={{ appId: app.id, environmentId: app.environmentId }} emptyHint={firstDeployHint(app)} />
  );
}

interface DeploymentListProps {
  /** Null lists all apps. */
  readonly placement: { readonly appId: string; readonly environmentId: string } | null;
  readonly emptyHint: string;
}

function DeploymentList({ placement, emptyHint }: DeploymentListProps) {
  const trpc = useTRPC();
  const filter = useUrlFilter('state');
  const state = isDeploymentState(filter.value) ? filter.value : null;
  const input = { ...placement, ...(state === null ? {} : { state }) };
  const deployments = useInfiniteQuery({
    ...trpc.deployment.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <Select
        aria-label="State"
        value={state ?? ''}
        onChange={(event) => filter.set(event.target.value)}
        className="mb-4 max-w-48"
      >
        <option value="">All states</option>
        {deploymentStates.map((each) => (
          <option key={each} value={each}>
            {deploymentLook[each].label}
          </option>
        ))}
      </Select>
      <Card>
        <QueryView query={deployments} skeleton={<SkeletonRows rows={8} />}>
          {(data) => {
            const items = data.pages.flatMap((page) => page.items);
            if (items.length === 0) {
              return (
                <EmptyState title={state === null ? 'No deployments yet' : 'No deployment is in this state'}>
                  {state === null ? emptyHint : 'Choose another state above.'}
                </EmptyState>
              );
            }
            return (
              <>
                <DeploymentRows deployments={items} withApp={placement === null} />
                <LoadMore query={deployments} />
              </>
            );
          }}
        </QueryView>
      </Card>
    </>
  );
}
