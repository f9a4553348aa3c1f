'use client';
// Deployment log: reads the store, follows the live stream, and merges both by line number.
import type { LogViewLine } from '@fairlead/ui/lib/log-lines';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useLiveEvents } from '../../api/live.tsx';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import { type LiveBatch, liveTail, storedLines } from './merge-log-lines.ts';
import { PAGE_LINES, readStoredLog, type StoredLog } from './stored-log.ts';

/** Poll interval of the store in milliseconds while it is behind the stream. */
const CATCH_UP_MS = 1000;

export interface DeploymentLog {
  readonly lines: readonly LogViewLine[];
  readonly loaded: boolean;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

export function useDeploymentLog(deploymentId: string, inProgress: boolean): DeploymentLog {
  const trpc = useTRPC();
  const client = useTRPCClient();
  const [batches, setBatches] = useState<readonly LiveBatch[]>([]);
  useLiveEvents((event) => {
    if (event.type === 'log.lines' && event.deploymentId === deploymentId) setBatches((all) => [...all, event]);
  });

  const stored = useQuery({
    queryKey: [...trpc.deployment.log.pathKey(), deploymentId],
    queryFn: ({ signal }): Promise<StoredLog> =>
      readStoredLog((fromLine) =>
        client.deployment.log.query({ deploymentId, fromLine, limit: PAGE_LINES }, { signal }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
    // The end of a deployment and the last chunk of its log arrive separately: poll until the store has it all.
    refetchInterval: (query) => {
      const data = query.state.data;
      if (data === undefined || data.complete) return false;
      return !inProgress || liveTail(batches, data.nextLine).hasGap ? CATCH_UP_MS : false;
    },
  });

  const read = useMemo(
    () => (stored.data === undefined ? [] : storedLines(stored.data.lines, stored.data.nextLine)),
    [stored.data],
  );
  const lines = useMemo(() => {
    const tail = liveTail(batches, read.length);
    return tail.lines.length === 0 ? read : [...read, ...tail.lines];
  }, [read, batches]);
  return { lines, loaded: stored.data !== undefined, error: stored.error, refetch: stored.refetch };
}
