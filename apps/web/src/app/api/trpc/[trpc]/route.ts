// The API over HTTP.
import { apiRouter, createContext, organizationHeader } from '@fairlead/api';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { parts } from '../../../../server/parts.ts';

export const dynamic = 'force-dynamic';

async function handle(request: Request): Promise<Response> {
  const ready = await parts();
  return fetchRequestHandler({
    endpoint: '/api/trpc',
    req: request,
    router: apiRouter,
    createContext: ({ info }) =>
      createContext(ready, {
        headers: request.headers,
        // A stream cannot send headers of its own: it names the organization in its connection parameters.
        organizationSlug: request.headers.get(organizationHeader) ?? info.connectionParams?.organization ?? null,
      }),
  });
}

export { handle as GET, handle as POST };
