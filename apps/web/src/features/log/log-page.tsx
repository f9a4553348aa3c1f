'use client';
// Log page of an app, queried from its servers: a search back in time, or a live tail.
import { Button } from '@fairlead/ui/button';
import { EmptyState } from '@fairlead/ui/empty-state';
import { ErrorState } from '@fairlead/ui/error-state';
import { plural } from '@fairlead/ui/lib/format';
import { Skeleton } from '@fairlead/ui/skeleton';
import { StateMark, StateText } from '@fairlead/ui/state-pill';
import { Segmented } from '@fairlead/ui/tabs';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useSubscription } from '@trpc/tanstack-react-query';
import { RefreshCw } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import type { AppDetail, LogFilter, LogLine } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { useUrlFilter } from '../../common/page/use-url-state.ts';
import { AppLogLines } from './app-log-lines.tsx';
import { LogFilters, type LogFilterValues, useLogFilters } from './log-filters.tsx';
import { appendTail, joinPages, olderThan } from './log-lines.ts';

const MODES = [
  { value: 'live', label: 'Live' },
  { value: 'search', label: 'Search' },
] as const;
const PAGE_LINES = 500;
const TAIL_FIRST_LINES = 200;

export function LogPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { app, placement } = useAppInEnvironment(slug, initial);
  const mode = useUrlFilter('mode');
  const filters = useLogFilters();
  const live = mode.value !== 'search';
  const filter = filterOf(app.id, app.environmentId, filters);
  const key = JSON.stringify([filter, filters.lengthMs]);
  return (
    <section aria-label="Logs" className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        <Segmented
          label="Live or search"
          value={live ? 'live' : 'search'}
          options={MODES}
          onValueChange={(value) => mode.set(value === 'live' ? '' : value)}
        />
        <div className="min-w-0 flex-1 max-sm:basis-full">
          <LogFilters app={app} live={live} />
        </div>
      </div>
      {placement === null ? (
        <LogFrame status={null}>
          <EmptyState title="Not running yet">Log lines appear here when a deployment has started the app.</EmptyState>
        </LogFrame>
      ) : live ? (
        <LiveTail key={key} app={app} filter={filter} />
      ) : (
        <Search key={key} app={app} filter={filter} lengthMs={filters.lengthMs} />
      )}
    </section>
  );
}

function filterOf(appId: string, environmentId: string, filters: LogFilterValues): LogFilter {
  const { text, regex, level, process, instanceId, serverId } = filters;
  return {
    appId,
    environmentId,
    ...(text === '' ? {} : { text, regex }),
    ...(level === null ? {} : { level }),
    ...(process === '' ? {} : { process }),
    ...(instanceId === '' ? {} : { instanceId }),
    ...(serverId === '' ? {} : { serverId }),
  };
}

interface ViewProps {
  readonly app: AppDetail;
  readonly filter: LogFilter;
}

/** `key` is the filter: a changed filter restarts the tail. */
function LiveTail({ app, filter }: ViewProps) {
  const trpc = useTRPC();
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [failures, setFailures] = useState<ReadonlyMap<string, string>>(new Map());
  const tail = useSubscription(
    trpc.log.tail.subscriptionOptions(
      { ...filter, limit: TAIL_FIRST_LINES },
      {
        // A stream that breaks is reopened, and starts with the newest lines again.
        onStarted: () => setLines([]),
        onData: ({ serverId, lines: arrived, failure }) => {
          if (failure !== null) setFailures((all) => new Map(all).set(serverId, failure));
          setLines((all) =>
            appendTail(
              all,
              arrived.map((line) => ({ ...line, serverId })),
            ),
          );
        },
      },
    ),
  );
  if (tail.status === 'error') {
    return (
      <LogFrame status={null}>
        <LogError error={tail.error} onRetry={tail.reset} />
      </LogFrame>
    );
  }
  return (
    <LogFrame
      status={
        tail.status === 'pending' ? (
          <StateText tone="live">Live</StateText>
        ) : (
          <StateText tone="busy">Connecting</StateText>
        )
      }
    >
      <MissingServers app={app} failures={[...failures].map(([serverId, sentence]) => ({ serverId, sentence }))} />
      <AppLogLines
        lines={lines}
        follows
        marked={filter.regex === true ? '' : (filter.text ?? '')}
        head={null}
        empty={
          <p className="px-4 py-2 font-sans text-base text-ink-faint">
            {filter.text === undefined
              ? 'Waiting for the first log line…'
              : 'No line matches yet. New ones appear here.'}
          </p>
        }
      />
    </LogFrame>
  );
}

function Search({ app, filter, lengthMs }: ViewProps & { readonly lengthMs: number | null }) {
  const trpc = useTRPC();
  const client = useTRPCClient();
  const found = useInfiniteQuery({
    queryKey: [...trpc.log.search.pathKey(), filter, lengthMs],
    initialPageParam: null as number | null,
    queryFn: ({ pageParam, signal }) =>
      client.log.search.query(
        {
          ...filter,
          limit: PAGE_LINES,
          ...(lengthMs === null ? {} : { fromUnixMs: Date.now() - lengthMs }),
          ...(pageParam === null ? {} : { toUnixMs: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (_, pages) => olderThan(pages),
    retry: false,
    refetchOnWindowFocus: false,
  });
  if (found.data === undefined) {
    return found.error === null ? (
      <Skeleton className="h-[28rem] lg:h-[calc(100dvh-19rem)]" />
    ) : (
      <LogFrame status={null}>
        <LogError error={found.error} onRetry={() => void found.refetch()} />
      </LogFrame>
    );
  }
  const lines = joinPages(found.data.pages);
  const failures = found.data.pages[0]?.failures ?? [];
  return (
    <LogFrame
      status={
        <>
          <span className="text-ink-faint text-sm" aria-live="polite">
            {plural(lines.length, 'line')}
            {found.hasNextPage ? ', and older ones' : ''}
          </span>
          <Button
            size="small"
            variant="ghost"
            icon={<RefreshCw size={14} aria-hidden="true" />}
            pending={found.isRefetching}
            onClick={() => void found.refetch()}
          >
            Search again
          </Button>
        </>
      }
    >
      <MissingServers app={app} failures={failures} />
      <AppLogLines
        lines={lines}
        follows={false}
        marked={filter.regex === true ? '' : (filter.text ?? '')}
        head={
          found.hasNextPage ? (
            <div className="flex justify-center pb-2 font-sans">
              <Button size="small" pending={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                Show older lines
              </Button>
            </div>
          ) : null
        }
        empty={
          <EmptyState className="font-sans" title="No line matches">
            Use a shorter search, a longer time range or all levels.
          </EmptyState>
        }
      />
    </LogFrame>
  );
}

function LogError({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  const failure = readFailure(error);
  return (
    <ErrorState
      title="The log can't be read"
      message={failure.message}
      errorId={failure.errorId ?? undefined}
      onRetry={onRetry}
    />
  );
}

interface MissingServersProps {
  readonly app: AppDetail;
  readonly failures: readonly { readonly serverId: string; readonly sentence: string }[];
}

/** Lists servers that did not answer: their lines are missing. */
function MissingServers({ app, failures }: MissingServersProps) {
  if (failures.length === 0) return null;
  const names = new Map(
    app.placements.flatMap(({ servers }) => servers.map((each) => [each.serverId as string, each.serverName])),
  );
  return (
    <ul className="border-line border-b bg-warn-wash px-4 py-2 text-sm">
      {failures.map(({ serverId, sentence }) => (
        <li key={serverId} className="flex items-center gap-2">
          <StateMark tone="warn" />
          <span className="text-pretty">
            {names.get(serverId) ?? 'A server'}: {sentence}
          </span>
        </li>
      ))}
    </ul>
  );
}

function LogFrame({ status, children }: { readonly status: ReactNode; readonly children: ReactNode }) {
  return (
    <div className="flex h-[28rem] flex-col overflow-hidden rounded-card border border-line bg-surface lg:h-[calc(100dvh-19rem)] lg:min-h-[28rem]">
      {status === null ? null : (
        <div className="flex min-h-11 items-center justify-between gap-3 border-line border-b px-4 py-1.5">
          {status}
        </div>
      )}
      {children}
    </div>
  );
}
