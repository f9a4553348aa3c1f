// Formats failures outside of tRPC: problem JSON (RFC 9457) with a code of our table.
import { errorTable } from '@fairlead/contract/errors';
import type { Log } from '@fairlead/core/kernel';
import { publicErrorOf, toTrpcError } from './errors.ts';
import { retryHeaders } from './rate-limit.ts';

export function problemOf(thrown: unknown, log: Log, path: string): Response {
  const published = publicErrorOf(toTrpcError(thrown, log, path));
  const { http, message } = errorTable[published.errorCode];
  const problem = {
    type: 'about:blank',
    title: message,
    status: http,
    code: published.errorCode,
    details: published.details,
    fields: published.fields,
    errorId: published.errorId,
  };
  return new Response(JSON.stringify(problem), {
    status: http,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(http === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...retryHeaders(thrown),
    },
  });
}
