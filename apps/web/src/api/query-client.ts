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
      },
      mutations: { retry: false },
      dehydrate: { serializeData: superjson.serialize, shouldDehydrateQuery: defaultShouldDehydrateQuery },
      hydrate: { deserializeData: superjson.deserialize },
    },
  });
}

export function leaveToSignIn(): void {
  const next = window.location.pathname + window.location.search;
  window.location.assign(`/sign-in?next=${encodeURIComponent(next)}`);
}
