// The API over HTTP: one request, which may be a batch of calls. Owns how much one request may ask for.
import type { AnyRouter } from '@trpc/server';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { type ApiParts, createContext, organizationHeader } from './context.ts';
import { apiRouter } from './router.ts';

const apiPath = '/api/trpc';
/** Calls of one request; each may be a transaction, and an address has room for a thousand. Clients split above it. */
export const batchMax = 20;

/** `router` is another one in tests only. */
export function answerRequest(parts: ApiParts, request: Request, router: AnyRouter = apiRouter): Promise<Response> {
  return fetchRequestHandler({
    endpoint: apiPath,
    req: request,
    router,
    maxBatchSize: batchMax,
    createContext: ({ info }) =>
      createContext(parts, {
        headers: request.headers,
        // A stream cannot send headers of its own: it names the organization in its connection parameters.
        organizationSlug: request.headers.get(organizationHeader) ?? info.connectionParams?.organization ?? null,
      }),
  });
}
