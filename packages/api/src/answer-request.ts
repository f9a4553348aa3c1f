// API over HTTP: one request, which may be a batch of calls. It limits the calls of one request.
import { AppError, type ErrorCode, errorTable } from '@fairlead/contract/errors';
import type { AnyRouter } from '@trpc/server';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { withBoundedBody } from './body-limit.ts';
import { clientAddress } from './client-address.ts';
import { type ApiParts, createContext, organizationHeader } from './context.ts';
import { toTrpcError } from './errors.ts';
import { retryHeaders } from './rate-limit.ts';
import { apiRouter } from './router.ts';

const apiPath = '/api/trpc';
/** Calls of one request; each may be a transaction, and an address has room for a thousand. Clients split above it. */
export const batchMax = 20;

/** `router` is another one in tests only. */
export async function answerRequest(
  parts: ApiParts,
  unread: Request,
  router: AnyRouter = apiRouter,
): Promise<Response> {
  const refusal = await refusalOf(parts, unread);
  // A refused request's body is never read.
  const request = refusal === null ? await withBoundedBody(unread) : unread;
  if (request === null) return refuse('request.too_large');
  return fetchRequestHandler({
    endpoint: apiPath,
    req: request,
    router,
    maxBatchSize: batchMax,
    responseMeta: () => ({ headers: { 'cache-control': 'no-store', ...retryHeaders(refusal) } }),
    createContext: ({ info }) => {
      if (refusal !== null) throw toTrpcError(refusal, parts.log, 'request');
      return createContext(parts, {
        headers: request.headers,
        // A stream cannot send headers of its own: it names the organization in its connection parameters.
        organizationSlug: request.headers.get(organizationHeader) ?? info.connectionParams?.organization ?? null,
      });
    },
  });
}

/** Null: it may go on. A batch is as many calls as it names. */
async function refusalOf(parts: ApiParts, { headers, url }: Request): Promise<AppError | null> {
  try {
    await parts.rateLimit.admit({ headers, ip: clientAddress(headers, parts.config.trustedProxies) }, callsOf(url));
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** tRPC decodes the path before it splits a batch, so an encoded comma separates calls too. */
function callsOf(url: string): number {
  try {
    return decodeURIComponent(new URL(url).pathname).split(',', batchMax).length;
  } catch (error) {
    if (error instanceof URIError) return batchMax;
    throw error;
  }
}

function refuse(code: ErrorCode): Response {
  const { http, message } = errorTable[code];
  return Response.json({ code, message }, { status: http, headers: { 'cache-control': 'no-store' } });
}
