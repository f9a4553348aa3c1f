'use client';
// Query of the dashboard's domains, which reloads itself while one of them is set up.
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';

const REFETCH_MS = 2_000;

export function useDashboardDomains() {
  return useQuery(
    useTRPC().dashboardDomain.list.queryOptions(undefined, {
      refetchInterval: ({ state }) =>
        state.data?.items.some(({ answeredAt }) => answeredAt === null) === true ? REFETCH_MS : false,
    }),
  );
}
