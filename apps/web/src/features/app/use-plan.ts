'use client';
// Fetches the build plan of a new app from the selected server: at once when the source or server changes, and after
// edited commands only on Detect again.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs } from '../../api/types.ts';
import { emptyDraft, type PlanDraft, planInputOf } from './plan-draft.ts';

export interface PlanSource extends Pick<Inputs['source']['inspect'], 'branch' | 'rootFolder' | 'builder'> {
  /** Null if there is no URL that a server could read. */
  readonly repositoryUrl: string | null;
  readonly serverId: string | undefined;
}

export function usePlan({ repositoryUrl, serverId, ...source }: PlanSource) {
  const [draft, setDraft] = useState(emptyDraft);
  /** Commands of the last detection. */
  const [given, setGiven] = useState(emptyDraft);
  const isAsked = repositoryUrl !== null && serverId !== undefined;
  const input = {
    ...source,
    ...planInputOf(given),
    repositoryUrl: repositoryUrl ?? '',
    serverId: serverId ?? '',
  };
  const query = useQuery({
    ...useTRPC().source.inspect.queryOptions(input, {
      // A plan takes as long as a clone: run it outside of the batch, and cancel it when the source is left.
      trpc: { context: { isSlow: true }, abortOnUnmount: true },
    }),
    enabled: isAsked,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  const detectAgain = (): void => {
    const isSame = JSON.stringify(planInputOf(given)) === JSON.stringify(planInputOf(draft));
    if (isSame) void query.refetch();
    else setGiven(draft);
  };
  return {
    isAsked,
    inspection: query.data,
    error: query.error,
    isFetching: query.isFetching,
    draft,
    setDraft: (next: PlanDraft) => setDraft(next),
    detectAgain,
  };
}
