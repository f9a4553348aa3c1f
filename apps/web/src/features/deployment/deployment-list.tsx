'use client';
// Deployments of one app or of all, newest first, with a state filter in the URL.
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Select } from '@fairlead/ui/input';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { DeploymentRows } from '../../common/deployment/deployment-rows.tsx';
import { deploymentLook, deploymentStates, isDeploymentState } from '../../common/deployment/states.ts';
import { LoadMore } from '../../common/page/load-more.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter } from '../../common/page/use-url-state.ts';

export interface DeploymentListPanelProps {
  /** Null lists all apps. */
  readonly place: { readonly appId: string; readonly environmentId: string } | null;
  readonly emptyHint: string;
}

export function DeploymentListPanel({ place, emptyHint }: DeploymentListPanelProps) {
  const trpc = useTRPC();
  const filter = useUrlFilter('state');
  const state = isDeploymentState(filter.value) ? filter.value : null;
  const input = { ...place, ...(state === null ? {} : { state }) };
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
                <DeploymentRows deployments={items} withApp={place === null} />
                <LoadMore query={deployments} />
              </>
            );
          }}
        </QueryView>
      </Card>
    </>
  );
}
