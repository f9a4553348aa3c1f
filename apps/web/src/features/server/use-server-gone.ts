'use client';
// Leaves the page of a server that removes itself, as soon as it is gone.
import { useToast } from '@fairlead/ui/toast';
import { useQuery } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useEffect } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';

/** Poll interval in milliseconds, a fallback where the live stream cannot connect. */
const ASK_EVERY_MS = 3000;

export function useServerGone(server: ServerDetail, isLeaving: boolean): void {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const { error } = useQuery({
    ...trpc.server.get.queryOptions({ serverId: server.id }),
    enabled: isLeaving,
    retry: false,
    refetchInterval: (query) => (query.state.error === null ? ASK_EVERY_MS : false),
  });
  const isGone = isLeaving && error !== null && readFailure(error).code === 'server.not_found';
  const { name } = server;
  const { servers } = paths;
  useEffect(() => {
    if (!isGone) return;
    toast({ title: `${name} is removed`, detail: 'Its agent has removed itself from the machine.' });
    router.push(servers);
  }, [isGone, name, router, servers, toast]);
}
