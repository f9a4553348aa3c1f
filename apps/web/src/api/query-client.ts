// Cache settings of the query client: stale time and retries. The server uses the same settings when it fills the cache
// for the first paint.
import { defaultShouldDehydrateQuery, QueryCache, QueryClient } from '@tanstack/react-query';
import superjson from 'superjson';
import { isSessionOver, readFailure } from './failure.ts';

const FRESH_MS = 15_000;
const RETRIES_MAX = 2;

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        if (typeof window !== 'undefined' && isSessionOver(error)) leaveToSignIn();
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        retry: (failures, error) => readFailure(error).retryable && failures < RETRIES_MAX,
        refetchOnWindowFocus: true,
        // Offline, a query fails and says so instead of showing its skeleton forever.
        networkMode: 'always',
        refetchOnReconnect: true,
      },
      // Offline, a change fails at once: a paused one would be sent whenever the network returns.
      mutations: { retry: false, networkMode: 'always' },
      dehydrate: { serializeData: superjson.serialize, shouldDehydrateQuery: defaultShouldDehydrateQuery },
      hydrate: { deserializeData: superjson.deserialize },
    },
  });
}

export function leaveToSignIn(): void {
  const next = window.location.pathname + window.location.search + window.location.hash;
  window.location.assign(`/sign-in?next=${encodeURIComponent(next)}`);
}
