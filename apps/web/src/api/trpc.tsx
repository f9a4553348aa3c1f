'use client';
// tRPC client of the browser: one client and one cache for each organization. Imports the router's types and never its
// code.
import type { AppRouter } from '@fairlead/api';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createTRPCClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  splitLink,
  TRPCClientError,
  type TRPCLink,
} from '@trpc/client';
import { observable } from '@trpc/server/observable';
import { createTRPCContext } from '@trpc/tanstack-react-query';
import { type ReactNode, useState } from 'react';
import superjson from 'superjson';
import { connection } from './connection.ts';
import { OFFLINE, OFFLINE_CODE } from './failure.ts';
import { makeQueryClient } from './query-client.ts';

const { TRPCProvider, useTRPC, useTRPCClient } = createTRPCContext<AppRouter>();

export { useTRPC, useTRPCClient };

const ENDPOINT = '/api/trpc';

export interface ApiProviderProps {
  /** Slug of the organization; null on pages outside of one. */
  readonly organization: string | null;
  readonly children: ReactNode;
}

export function ApiProvider({ organization, children }: ApiProviderProps) {
  const [queryClient] = useState<QueryClient>(makeQueryClient);
  const [trpcClient] = useState(() => createClient(organization));
  return (
    <QueryClientProvider client={queryClient}>
      <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
        {children}
      </TRPCProvider>
    </QueryClientProvider>
  );
}

/** Fails a change while the browser is offline, before it is sent. */
const refuseOffline: TRPCLink<AppRouter> =
  () =>
  ({ op, next }) => {
    if (op.type !== 'mutation' || connection.isOnline()) return next(op);
    const refusal = Object.assign(new TRPCClientError<AppRouter>(OFFLINE), { data: { errorCode: OFFLINE_CODE } });
    return observable((observer) => observer.error(refusal));
  };

function createClient(organization: string | null) {
  const http = {
    url: ENDPOINT,
    transformer: superjson,
    headers: () => (organization === null ? {} : { 'x-fairlead-organization': organization }),
  };
  return createTRPCClient<AppRouter>({
    links: [
      refuseOffline,
      splitLink({
        condition: (operation) => operation.type === 'subscription',
        true: httpSubscriptionLink({
          url: ENDPOINT,
          transformer: superjson,
          connectionParams: () => (organization === null ? null : { organization }),
        }),
        // The server answers a batch as a whole, so a slow call would delay the others.
        false: splitLink({
          condition: ({ context }) => context.isSlow === true,
          true: httpLink(http),
          // The server accepts at most 20 calls in one request.
          false: httpBatchLink({ ...http, maxItems: 20 }),
        }),
      }),
    ],
  });
}
