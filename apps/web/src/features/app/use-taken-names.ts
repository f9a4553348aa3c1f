'use client';
// Names of apps that begin like a new one. Deleted apps keep their names, so that they can be restored.
import { skipToken, useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';

/** Skips the lookup for an empty name. Misses apps that the member can't see; the server reports those names on submit. */
export function useTakenNames(name: string): ReadonlySet<string> {
  const trpc = useTRPC();
  const isSought = name !== '';
  const listed = useQuery({
    ...trpc.app.list.queryOptions(isSought ? { search: name, limit: 100 } : skipToken),
    staleTime: 0,
  });
  const deleted = useQuery({ ...trpc.app.listDeleted.queryOptions(isSought ? undefined : skipToken), staleTime: 0 });
  return new Set([...(listed.data?.items ?? []), ...(deleted.data?.items ?? [])].map((app) => app.name));
}
