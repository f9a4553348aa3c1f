// API for server components: calls the procedures of the browser's API in process. A page loads its data first, and the
// browser continues with a filled cache.
import 'server-only';
import { apiRouter, createContext } from '@fairlead/api';
import { dehydrate, HydrationBoundary } from '@tanstack/react-query';
import { TRPCError } from '@trpc/server';
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query';
import { headers } from 'next/headers';
import { notFound, redirect } from 'next/navigation';
import { cache, type ReactNode } from 'react';
import { makeQueryClient } from '../api/query-client.ts';
import { parts } from './parts.ts';

// One context per request and organization: layout and page read the session and the membership once.
const contextOf = cache(async (organization: string | null) =>
  createContext(await parts(), { headers: new Headers(await headers()), organizationSlug: organization }),
);

const queryClientOf = cache((_organization: string | null) => makeQueryClient());

export type PageApi = Awaited<ReturnType<typeof pageApi>>;

export async function pageApi(organization: string | null) {
  const ctx = await contextOf(organization);
  const queryClient = queryClientOf(organization);
  const trpc = createTRPCOptionsProxy({ router: apiRouter, ctx, queryClient });

  return {
    trpc,
    /** Loads required data: missing data is a 404, a missing session redirects to sign-in. */
    async require<Data>(query: Promise<Data>): Promise<Data> {
      try {
        return await query;
      } catch (error) {
        return await respondToError(error);
      }
    },
    /** Loads data for signed-in readers; returns null for everybody else. */
    async optional<Data>(query: Promise<Data>): Promise<Data | null> {
      try {
        return await query;
      } catch (error) {
        if (error instanceof TRPCError && error.code === 'UNAUTHORIZED') return null;
        throw error;
      }
    },
    /** Returns the page's title; the page itself handles missing data. */
    async title<Data>(query: Promise<Data>, titleOf: (data: Data) => string): Promise<string> {
      return query.then(titleOf, () => 'Not found');
    },
    /** Prefetches queries. The browser shows a failure in its place with a retry. */
    async load(...queries: readonly Promise<unknown>[]): Promise<void> {
      await Promise.allSettled(queries);
    },
    queryClient,
  };
}

export function Hydrated({
  organization,
  children,
}: {
  readonly organization: string | null;
  readonly children: ReactNode;
}) {
  return <HydrationBoundary state={dehydrate(queryClientOf(organization))}>{children}</HydrationBoundary>;
}

async function respondToError(error: unknown): Promise<never> {
  if (error instanceof TRPCError && error.code === 'NOT_FOUND') notFound();
  if (error instanceof TRPCError && error.code === 'UNAUTHORIZED') redirect(await signInPath());
  throw error;
}

async function signInPath(): Promise<string> {
  const path = (await headers()).get('x-fairlead-path') ?? '/';
  return path === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(path)}`;
}
