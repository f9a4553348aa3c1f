'use client';
// Log of an app: reads stored lines from its servers, follows new ones, and joins both.
import { keepPreviousData, skipToken, useInfiniteQuery } from '@tanstack/react-query';
import { useSubscription } from '@trpc/tanstack-react-query';
import { useMemo, useState } from 'react';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import type { LogFilter, LogLine } from '../../api/types.ts';
import { appendTail, joinPages, mergeTail, olderThan, TAIL_LINES_KEPT, TAIL_LINES_MAX } from './log-lines.ts';

const PAGE_LINES = 500;
const TAIL_FIRST_LINES = 200;
/** Periods after a linked line; the longest with few enough lines is shown. */
const AFTER_MS = [60_000, 5000, 500];

export interface AppLogInput {
  readonly filter: LogFilter;
  /** Length of the searched period in milliseconds; null searches from the beginning. */
  readonly lengthMs: number | null;
  /** Moment whose surroundings are shown instead of the newest lines; null for those. */
  readonly aroundMs: number | null;
  readonly live: boolean;
}

export interface AppLog {
  readonly lines: readonly LogLine[];
  /** False until the stored lines are read. */
  readonly loaded: boolean;
  readonly error: unknown;
  readonly tailError: unknown;
  readonly tailState: 'off' | 'connecting' | 'live' | 'failed';
  readonly failures: readonly { readonly serverId: string; readonly sentence: string }[];
  readonly hasOlder: boolean;
  readonly isLoadingOlder: boolean;
  readonly loadOlder: () => void;
  readonly retry: () => void;
}

interface Tail {
  readonly tail: readonly LogLine[];
  /** Times that its oldest lines were dropped. */
  readonly trims: number;
}

/** Give the component that calls it a key of its input: another filter begins anew. */
export function useAppLog({ filter, lengthMs, aroundMs, live }: AppLogInput): AppLog {
  const trpc = useTRPC();
  const client = useTRPCClient();
  const [{ tail, trims }, setTail] = useState<Tail>({ tail: [], trims: 0 });
  const [failures, setFailures] = useState<ReadonlyMap<string, string>>(new Map());
  // Stored lines are read after each start and trim of the tail, so that no line falls between the two.
  const [starts, setStarts] = useState(0);
  const stream = useSubscription(
    trpc.log.tail.subscriptionOptions(live ? { ...filter, limit: TAIL_FIRST_LINES } : skipToken, {
      onStarted: () => {
        setTail(({ trims: count }) => ({ tail: [], trims: count }));
        setStarts((count) => count + 1);
      },
      onData: ({ serverId, lines: arrived, failure }) => {
        if (failure !== null) setFailures((all) => new Map(all).set(serverId, failure));
        setTail((before) => {
          const next = appendTail(
            before.tail,
            arrived.map((line) => ({ ...line, serverId })),
          );
          if (next.length <= TAIL_LINES_MAX) return { ...before, tail: next };
          return { tail: next.slice(-TAIL_LINES_KEPT), trims: before.trims + 1 };
        });
      },
    }),
  );
  const hasTailFailed = stream.status === 'error';

  const stored = useInfiniteQuery({
    queryKey: [...trpc.log.search.pathKey(), filter, lengthMs, aroundMs, starts, trims],
    enabled: !live || starts > 0 || hasTailFailed,
    initialPageParam: null as number | null,
    queryFn: async ({ pageParam, signal }) => {
      const search = (part: Pick<LogFilter, 'fromUnixMs' | 'toUnixMs'>) =>
        client.log.search.query({ ...filter, limit: PAGE_LINES, ...part }, { signal });
      const fromMs = lengthMs === null || aroundMs !== null ? 0 : Date.now() - lengthMs;
      const page = await search({
        ...(fromMs === 0 ? {} : { fromUnixMs: fromMs }),
        ...((pageParam ?? aroundMs) === null ? {} : { toUnixMs: pageParam ?? aroundMs ?? 0 }),
      });
      if (pageParam !== null || aroundMs === null) return { ...page, fromMs };
      for (const lengthAfterMs of AFTER_MS) {
        const after = await search({ fromUnixMs: aroundMs + 1, toUnixMs: aroundMs + lengthAfterMs });
        if (!after.more) return { ...page, lines: [...page.lines, ...after.lines], fromMs };
      }
      return { ...page, fromMs };
    },
    getNextPageParam: (_, pages) => olderThan(pages),
    placeholderData: keepPreviousData,
    retry: false,
    refetchOnWindowFocus: false,
  });

  const pages = stored.data?.pages;
  const lines = useMemo(() => {
    if (pages === undefined) return [];
    const last = pages.at(-1);
    const history = joinPages(pages);
    const floorMs = last?.more === true ? (history[0]?.unixMs ?? 0) : (last?.fromMs ?? 0);
    return mergeTail(history, tail, floorMs);
  }, [pages, tail]);
  const known = new Map([
    ...(pages?.[0]?.failures ?? []).map(({ serverId, sentence }) => [serverId as string, sentence] as const),
    ...failures,
  ]);
  return {
    lines,
    loaded: pages !== undefined,
    error: stored.error,
    tailError: stream.error,
    tailState: !live ? 'off' : hasTailFailed ? 'failed' : stream.status === 'pending' ? 'live' : 'connecting',
    failures: [...known].map(([serverId, sentence]) => ({ serverId, sentence })),
    hasOlder: stored.hasNextPage,
    isLoadingOlder: stored.isFetchingNextPage,
    loadOlder: () => void stored.fetchNextPage(),
    retry: () => {
      if (hasTailFailed) stream.reset();
      void stored.refetch();
    },
  };
}
