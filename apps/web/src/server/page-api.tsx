// API for server components: calls the procedures of the browser's API in process. A page loads its data first, and the
// browser continues with a filled cache.
import 'server-only';
import { apiRouter, createContext, publicErrorOf } from '@fairlead/api';
import { dehydrate, HydrationBoundary } from '@tanstack/react-query';
import { TRPCError } from '@trpc/server';
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query';
import type { Metadata } from 'next';
import { headers } from 'next/headers';
import { forbidden, notFound, redirect } from 'next/navigation';
import { cache, type ReactNode } from 'react';
import { isForbidden } from '../api/failure.ts';
import { makeQueryClient } from '../api/query-client.ts';
import { parts } from './parts.ts';

// One context per request and organization: layout and page read the session and the membership once.
const contextOf = cache(async (organization: string | null) =>
  createContext(await parts(), { headers: new Headers(await headers()), organizationSlug: organization }),
);

const queryClientOf = cache((_organization: string | null) => makeQueryClient());

const NOT_FOUND = 'Page not found';

/** Metadata of a layout whose path names nothing. Its template ignores the titles of pages below, which are not shown. */
export const notFoundMetadata: Metadata = { title: { default: NOT_FOUND, template: `${NOT_FOUND} · Fairlead` } };

export type PageApi = Awaited<ReturnType<typeof pageApi>>;

export async function pageApi(organization: string | null) {
  const ctx = await contextOf(organization);
  const queryClient = queryClientOf(organization);
  const trpc = createTRPCOptionsProxy({ router: apiRouter, ctx, queryClient });

  return {
    trpc,
    /**
     * Loads required data, which the path names: missing data and a malformed id are a 404, a missing permission a 403, a
     * missing session redirects to sign-in.
     */
    async require<Data>(query: Promise<Data>): Promise<Data> {
      try {
        return await query;
      } catch (error) {
        return await respondToError(error);
      }
    },
    /** Loads the page's main data: a missing permission is a 403. The browser shows any other failure in its place. */
    async main(query: Promise<unknown>): Promise<void> {
      const [outcome] = await Promise.allSettled([query]);
      if (outcome.status === 'rejected' && isRefused(outcome.reason)) forbidden();
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
      return query.then(titleOf, () => NOT_FOUND);
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
  if (error instanceof TRPCError && (error.code === 'NOT_FOUND' || isMalformed(error))) notFound();
  if (error instanceof TRPCError && error.code === 'UNAUTHORIZED') redirect(await signInPath());
  if (isRefused(error)) forbidden();
  if (error instanceof TRPCError) {
    // The error page shows the digest, which is then the id in the log.
    const { errorId } = publicErrorOf(error);
    if (errorId !== null) Object.assign(error, { digest: errorId });
  }
  throw error;
}

function isRefused(error: unknown): boolean {
  return error instanceof TRPCError && isForbidden({ code: publicErrorOf(error).errorCode });
}

/** The input's schema refused the call, so the path names nothing. */
function isMalformed(error: TRPCError): boolean {
  return publicErrorOf(error).errorCode === 'input.invalid';
}

async function signInPath(): Promise<string> {
  const path = (await headers()).get('x-fairlead-path') ?? '/';
  return path === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(path)}`;
}
