// Filters of a list of deployments, in the URL: those that the lists of one app and of all apps share.
import { useFormats } from '@fairlead/ui/formats';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { deploymentLook, deploymentStates } from '../../common/deployment/states.ts';
import { type DayFilter, type MenuFilter, useDayFilter, useMenuFilter } from '../../common/list/list-filter.ts';
import { useUrlSearch } from '../../common/page/use-url-state.ts';
import { type DeploymentFilterName, deploymentInput } from './filter.ts';

const ORDERS = [{ value: 'oldest', label: 'Oldest first' }] as const;

export function useDeploymentFilters() {
  const search = useUrlSearch();
  const offered = useQuery(useTRPC().deployment.listFilters.queryOptions()).data;
  return {
    search: { ...search, label: 'Search deployments' },
    state: useMenuFilter('state', {
      label: 'State',
      all: 'All states',
      options: deploymentStates.map((state) => ({ value: state, label: deploymentLook[state].label })),
    }),
    branch: useMenuFilter('branch', {
      label: 'Branch',
      all: 'All branches',
      options: (offered?.branches ?? []).map((branch) => ({ value: branch, label: branch })),
    }),
    author: useMenuFilter('author', {
      label: 'Triggered by',
      all: 'Everyone',
      unknown: 'Unknown person',
      options: (offered?.authors ?? []).map(({ id, name }) => ({ value: id, label: name })),
    }),
    order: useMenuFilter('order', { label: 'Sort', all: 'Newest first', options: ORDERS }),
    from: useDayFilter('from', 'From'),
    to: useDayFilter('to', 'To'),
  };
}

type Filter = MenuFilter | DayFilter;

/** Returns the filters as input of the API. */
export function useDeploymentInput(search: string, filters: readonly Filter[]) {
  const { timeZone } = useFormats();
  const values = new Map<string, string>(filters.map(({ name, value }) => [name, value]));
  return deploymentInput(
    (name: DeploymentFilterName) => (name === 'search' ? search : (values.get(name) ?? '')),
    timeZone,
  );
}
